//! Write amplification of uniform random page writes in steady state, from the literature.
//!
//! `rho` is the share of the pages in play that hold valid data, `b` the pages of a block. Nothing here is shared with the
//! simulator: these are solvers of published equations.
#![allow(missing_docs)]

/// Where an increasing function crosses zero.
pub fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The principal branch of Lambert's W between its branch point at -1/e and 0, by Halley's iteration.
pub fn lambert_w0(x: f64) -> f64 {
    // Near the branch point W is a series in this root, elsewhere close to x.
    let p = (2.0 * (1.0 + std::f64::consts::E * x)).max(0.0).sqrt();
    let mut w = -1.0 + p - p * p / 3.0 + 11.0 / 72.0 * p * p * p;
    for _ in 0..50 {
        let f = w * w.exp() - x;
        let step = f / (w.exp() * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0));
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

/// FIFO (also called LRU) cleaning, any block size: A = alpha / (alpha + W0(-alpha e^-alpha)) with alpha = 1 / rho.
pub fn fifo(rho: f64) -> f64 {
    let alpha = 1.0 / rho;
    alpha / (alpha + lambert_w0(-alpha * (-alpha).exp()))
}

/// Greedy: (b - v) / b = rho (H_b - H_v), harmonic numbers linear between integers; A = b / (b - v).
pub fn greedy(rho: f64, b: u32) -> f64 {
    let harmonic: Vec<f64> = (0..=b)
        .scan(0.0, |h, i| {
            *h += if i == 0 { 0.0 } else { 1.0 / f64::from(i) };
            Some(*h)
        })
        .collect();
    let between = |v: f64| {
        let i = (v as usize).min(b as usize - 1);
        harmonic[i] + (v - i as f64) * (harmonic[i + 1] - harmonic[i])
    };
    let b = f64::from(b);
    // v = b solves it too; the answer is the smaller root.
    let v = root(0.0, b - 1e-6, |v| (b - v) / b - rho * (between(b) - between(v)));
    b / (b - v)
}

/// The best of d random blocks (Van Houdt 2013): the share s_i of blocks with at least i valid pages obeys
/// kappa i (s_i - s_(i+1)) = 1 - s_i^d, the s_i sum to rho b, and A = 1 / (kappa rho).
pub fn d_choices(rho: f64, b: u32, d: u32) -> f64 {
    let valid_pages = |kappa: f64| {
        let (mut s, mut sum) = (0.0, 0.0);
        for i in (1..=b).rev() {
            let rate = kappa * f64::from(i);
            let above: f64 = s;
            // Newton from the right: the function is convex and rising, so that every step stays on that side.
            s = 1.0;
            for _ in 0..60 {
                let step = (rate * (s - above) + s.powi(d as i32) - 1.0) / (rate + f64::from(d) * s.powi(d as i32 - 1));
                s -= step;
                if step.abs() < 1e-14 {
                    break;
                }
            }
            sum += s;
        }
        sum
    };
    // The faster blocks lose their pages, the fewer they hold.
    let kappa = root(1e-9, 1.0 / rho, |kappa| rho * f64::from(b) - valid_pages(kappa));
    1.0 / (kappa * rho)
}

/// A random block, whatever it holds.
pub fn random(rho: f64) -> f64 {
    1.0 / (1.0 - rho)
}
