//! Is a difference significant? Means, deviations and Student's t, in arithmetic that gives the same bits on every machine.

/// Mean of some values; not a number if there are none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
    fn the_expansion_meets_the_table() {
        assert!((expansion(30.0) - t95(30)).abs() < 1e-5);
        assert!((t95(60) - 2.000_298).abs() < 1e-5 && (t95(1000) - 1.962_339).abs() < 1e-5);
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
