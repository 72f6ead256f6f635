//! Figures of variants as text, for tables and pages.

use crate::text::{count, duration, plural, rate, size};
use crate::variants::figures::{Effect, Figure, Unit};
use crate::variants::student::half_width;

/// A value of a measure.
pub fn cell(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Time => duration(value),
        Unit::Count if value.fract() == 0.0 => count(value as u64),
        Unit::Count => format!("{value:.1}"),
        Unit::Rate => rate(value),
        Unit::Megabytes => rate(value / 1e6),
        Unit::Bytes => size(value as u64),
        Unit::Factor => format!("{value:.3}"),
    }
}

/// A factor: three decimals, fewer of large ones, and two digits of those that three decimals would make a 0.
pub fn factor(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.009_95 || v <= 0.0 => format!("{v:.3}"),
        v if v >= 0.000_995 => format!("{v:.4}"),
        v => format!("{v:.1e}"),
    }
}

/// A variant against the first: `0.812x (0.799..0.825)*`.
pub fn beside(figure: &Figure) -> String {
    let Some(ratio) = figure.ratio else {
        return if figure.mean == 0.0 { "1x".into() } else { "-".into() };
    };
    let interval = figure.interval.map_or(String::new(), |(low, high)| format!(" ({}..{})", factor(low), factor(high)));
    let ratio = format!("{}x", factor(ratio));
    match figure.verdict() {
        Effect::Same => "1x".into(),
        Effect::NotShown => format!("~{ratio}{interval}"),
        _ => format!("{ratio}{interval}{}", if figure.stands() { "*" } else { "" }),
    }
}

/// Half the interval of the first variant's own mean: `±354.2 us`.
pub fn own_interval(figure: &Figure, unit: Unit) -> String {
    half_width(&figure.values).map_or(String::new(), |half| format!("±{}", cell(unit, half)))
}

/// How to read the columns of some figures over several seeds.
pub fn legend<'f>(figures: impl Iterator<Item = &'f Figure>) -> String {
    let mut text = "± half the 95 % confidence interval (Student's t) of the first variant's own mean; the others have ratios to it, the geometric mean of the ratios seed by seed with its 95 % interval (Student's t of the logarithms); ~ no difference shown: the interval includes 1".to_string();
    let without =
        |figure: &Figure| figure.chance.is_some() && figure.interval.is_none() && figure.verdict() != Effect::Same;
    if { figures }.any(without) {
        text.push_str("; a ratio without interval is one of means: a seed has the value 0, which has no logarithm, so the difference was tested");
    }
    text
}

/// How many differences were tested, and how many of them chance would show; none without any.
pub fn tests<'f>(figures: impl Iterator<Item = &'f Figure>) -> Option<String> {
    let (mut all, mut shown, mut stand) = (0u64, 0u64, 0u64);
    for figure in figures.filter(|figure| figure.discovery.is_some()) {
        all += 1;
        shown += u64::from(matches!(figure.verdict(), Effect::Lower | Effect::Higher));
        stand += u64::from(figure.stands());
    }
    (all > 0).then(|| {
        format!(
            "{} tested, each at 5 %: {} shown; if nothing differed, about {:.1} would be shown by chance; the {} with * stand when all are taken together (Benjamini-Hochberg, false discovery rate 5 %)",
            plural(all, "difference"),
            count(shown),
            all as f64 / 20.0,
            count(stand),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_read_well() {
        let mut figure = Figure::new(vec![0.019, 0.019 * 1.02, 0.019 / 1.02], &[1.0; 3]);
        // ln 1.02 x 4.302653 / sqrt 3 = 0.04919: 0.95200 and 1.05042 times 0.019.
        assert_eq!(beside(&figure), "0.019x (0.018..0.020)");
        figure.discovery = Some(0.05);
        assert_eq!(beside(&figure), "0.019x (0.018..0.020)*");
        assert_eq!(beside(&Figure::new(vec![1.0, 1.1, 0.9], &[1.0; 3])), "~0.997x (0.777..1.279)");
        assert_eq!(beside(&Figure::new(vec![0.0; 2], &[1.0, 2.0])), "~0.000x", "two seeds do not tell: -1.5 ± 6.4");
        assert_eq!(beside(&Figure::new(vec![0.0; 2], &[0.0; 2])), "1x");
        assert_eq!(beside(&Figure::new(vec![1.0; 2], &[0.0; 2])), "-");
        assert_eq!(
            [0.0054, 0.000_12, 3e-9, 12.345, 1234.5].map(factor),
            ["0.0054", "1.2e-4", "3.0e-9", "12.3", "1234"]
        );
    }

    #[test]
    fn tests_are_counted() {
        let mut figures: Vec<Figure> = (0..41).map(|i| Figure::new(vec![1.0, 1.0 + f64::from(i)], &[1.0; 2])).collect();
        figures.push(Figure::new(vec![2.0, 2.0], &[1.0; 2]));
        figures.push(Figure::new(vec![2.0], &[1.0]));
        crate::variants::figures::judge(figures.iter_mut());
        let text = tests(figures.iter()).unwrap();
        assert!(text.starts_with("42 differences tested, each at 5 %: 1 shown; if nothing differed, about 2.1 would be shown by chance; the 1 with * stand"), "{text}");
        assert_eq!(tests(figures[42..].iter()), None, "one seed tests nothing");
        assert!(!legend(figures.iter()).contains("the value 0"));
        figures.push(Figure::new(vec![0.0, 0.0], &[1.0; 2]));
        assert!(legend(figures.iter()).contains("the value 0"));
    }
}
