//! Is there a difference? Means, deviations, Student's t and ratios by paired logarithms, in arithmetic that gives the same bits on
//! every machine.

/// Mean of some values; not a number if there are none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean of the logarithms of some values; not finite where one is 0, not a number if there are none.
pub fn mean_log(values: &[f64]) -> f64 {
    mean(&values.iter().map(|value| libm::log(*value)).collect::<Vec<f64>>())
}

/// Sample standard deviation; none for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let (n, mean) = (values.len(), mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
}

/// Half the width of the 95 % confidence interval of the mean of some values; none for fewer than two.
pub fn half_width(values: &[f64]) -> Option<f64> {
    Some(t95(values.len() - 1) * deviation(values)? / (values.len() as f64).sqrt())
}

/// The probability of a mean at least as far from 0 as that of some values, if the true mean is 0 (Student's t, two-sided); none
/// for fewer than two.
pub fn chance(values: &[f64]) -> Option<f64> {
    let (mean, error) = (mean(values), deviation(values)? / (values.len() as f64).sqrt());
    Some(match (mean == 0.0, error == 0.0) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => beyond(mean / error, values.len() - 1),
    })
}

/// The probability of a larger absolute value of Student's t than this one: the finite sums for whole degrees of freedom
/// (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn beyond(t: f64, freedom: usize) -> f64 {
    let n = freedom as f64;
    let (sine, square) = (t.abs() / (n + t * t).sqrt(), n / (n + t * t));
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (square.sqrt(), 0.0) } else { (1.0, 0.0) };
    // Powers of the cosine up to that of `freedom - 2`; each coefficient is (k - 1) / k of the one before.
    for k in ((if odd { 3 } else { 2 })..=freedom).step_by(2) {
        sum += term;
        term *= square * (k - 1) as f64 / k as f64;
    }
    let inside = match odd {
        true => std::f64::consts::FRAC_2_PI * (libm::atan(t.abs() / n.sqrt()) + sine * sum),
        false => sine * sum,
    };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// What some values are of others, seed by seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean of the ratios.
    pub mean: f64,
    /// Ends of its 95 % confidence interval: Student's t of the logarithms. None for fewer than two pairs.
    pub interval: Option<(f64, f64)>,
    /// The probability of a mean as far from 1, if the true one is 1; none for fewer than two pairs.
    pub chance: Option<f64>,
}

/// The ratio of values to those of a baseline with the same seeds. A pair with a 0 has no logarithm: then there is none.
pub fn ratio(values: &[f64], base: &[f64]) -> Option<Ratio> {
    let logs = values.iter().zip(base).map(|(value, base)| {
        let ratio = value / base;
        (ratio > 0.0 && ratio.is_finite()).then(|| libm::log(ratio))
    });
    let logs = logs.collect::<Option<Vec<f64>>>().filter(|logs| !logs.is_empty())?;
    let middle = mean(&logs);
    let interval = half_width(&logs).map(|half| (libm::exp(middle - half), libm::exp(middle + half)));
    // The ratio of one pair is exact; a power of its logarithm would be off in the last bit.
    let geometric = if logs.windows(2).all(|two| two[0] == two[1]) { values[0] / base[0] } else { libm::exp(middle) };
    Some(Ratio { mean: geometric, interval, chance: chance(&logs) })
}

/// For each of some tests the least rate of false discoveries at which it stands (Benjamini and Hochberg 1995): at most 5 % of those
/// that are marked at 0.05 are expected to be there by chance.
pub fn discoveries(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    let (mut rates, mut least) = (vec![1.0; chances.len()], 1.0f64);
    for (rank, test) in order.into_iter().enumerate().rev() {
        least = least.min(chances[test] * chances.len() as f64 / (rank + 1) as f64);
        rates[test] = least;
    }
    rates
}

/// The two-sided 95 % point of Student's t for some degrees of freedom: tables up to 30, beyond it the expansion around
/// the normal distribution, which is off by less than 1e-5 there.
fn t95(freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139,
        2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922, 2.093_024, 2.085_963,
        2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
    ];
    if (1..=30).contains(&freedom) { TABLE[freedom - 1] } else { expansion(freedom as f64) }
}

fn expansion(freedom: f64) -> f64 {
    let z = 1.959_963_984_540_054_f64;
    let (z3, z5, z7) = (z * z * z, z * z * z * z * z, z * z * z * z * z * z * z);
    let first = (z3 + z) / 4.0;
    let second = (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0;
    let third = (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0;
    z + first / freedom + second / (freedom * freedom) + third / (freedom * freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_logarithms_are_not_logarithms_of_means() {
        assert!((mean_log(&[2.0, 8.0]) - 4.0_f64.ln()).abs() < 1e-12);
        assert!(!mean_log(&[2.0, 0.0]).is_finite() && mean_log(&[]).is_nan());
    }

    #[test]
    fn the_expansion_meets_the_table() {
        assert!((expansion(30.0) - t95(30)).abs() < 1e-5);
        assert!((t95(60) - 2.000_298).abs() < 1e-5 && (t95(1000) - 1.962_339).abs() < 1e-5);
    }

    #[test]
    fn chances_are_those_of_published_tables() {
        // The 95 % points of the table above leave 5 % beyond them, whatever the degrees of freedom.
        for freedom in (1..=30).chain([60, 1000]) {
            let beyond = beyond(-t95(freedom), freedom);
            assert!((beyond - 0.05).abs() < 5e-7, "{freedom}: {beyond}");
        }
        // Cauchy: P(|t| > 1) is one half. Two degrees: 1 - t / sqrt(2 + t^2).
        assert!((beyond(1.0, 1) - 0.5).abs() < 1e-15);
        assert!((beyond(2.0, 2) - (1.0 - 2.0 / 6f64.sqrt())).abs() < 1e-15);
        // 99.9 % points: 636.619, 8.610 and 3.646.
        for (t, freedom) in [(636.619, 1), (8.610, 4), (3.646, 30)] {
            assert!((beyond(t, freedom) - 0.001).abs() < 2e-6, "{freedom}: {}", beyond(t, freedom));
        }
        assert_eq!((chance(&[0.0, 0.0]), chance(&[2.0, 2.0]), chance(&[2.0])), (Some(1.0), Some(0.0), None));
    }

    #[test]
    fn ratios_are_geometric_and_never_reach_0() {
        // A half and an eighth: a quarter. Logarithms -ln 2 and -3 ln 2: their mean's error is ln 2, and t is 12.706 for one degree.
        let of = ratio(&[1.0, 1.0], &[2.0, 8.0]).unwrap();
        let (low, high) = of.interval.unwrap();
        assert!((of.mean - 0.25).abs() < 1e-15);
        let factor = 2f64.powf(12.706_205);
        assert!((low * factor / 0.25 - 1.0).abs() < 1e-12 && (high / factor / 0.25 - 1.0).abs() < 1e-12);
        assert!(low > 0.0, "the interval of the difference of means reaches far below 0: {low}");
        // t = 2 of one degree: 1 - 2/pi atan 2.
        assert!((of.chance.unwrap() - 0.295_167_235_300_866_5).abs() < 1e-12);
        // Turned around, it is the inverse.
        let back = ratio(&[2.0, 8.0], &[1.0, 1.0]).unwrap();
        assert!((back.mean * of.mean - 1.0).abs() < 1e-15 && (back.interval.unwrap().0 * high - 1.0).abs() < 1e-12);
        let one = Ratio { mean: 0.3 / 0.7, interval: None, chance: None };
        assert_eq!(ratio(&[0.3], &[0.7]), Some(one));
        for (values, base) in [([0.0, 1.0], [1.0, 1.0]), ([1.0, 1.0], [1.0, 0.0]), ([0.0, 0.0], [0.0, 0.0])] {
            assert_eq!(ratio(&values, &base), None, "a 0 has no logarithm");
        }
    }

    #[test]
    fn discoveries_are_those_of_the_definition() {
        // Benjamini and Hochberg 1995, section 3.2: fifteen tests of which four stand at 0.05.
        let published = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let stand = |chances: &[f64]| discoveries(chances).iter().filter(|rate| **rate <= 0.05).count();
        assert_eq!(stand(&published), 4);
        let mut turned = published;
        turned.reverse();
        let rates = discoveries(&turned);
        assert!((rates[14] - 0.0015).abs() < 1e-15, "the least times fifteen");
        assert_eq!(rates[0], 1.0);
        assert!(rates.iter().rev().is_sorted(), "ranks never part: {rates:?}");
        // Neither of two stands alone, both together: 0.05 <= 0.05 x 2 / 2.
        assert_eq!(discoveries(&[0.04, 0.05]), [0.05, 0.05]);
        assert!(discoveries(&[]).is_empty());
    }

    #[test]
    fn five_trials() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(mean(&values), 3.0);
        assert!((deviation(&values).unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
        assert!((half_width(&values).unwrap() - 2.776_445 * (0.5f64).sqrt()).abs() < 1e-12);
        assert_eq!(half_width(&[1.0]), None);
    }
}
