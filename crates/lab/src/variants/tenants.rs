//! The figures that variants are compared by, tenant by tenant.

use serde_json::{Map, Value as Json};
use ssdlab_sim::report::tenants::Tenant;

use crate::outcome::Outcome;
use crate::variants::figures::{Figure, Unit};

/// A figure of a tenant.
pub struct TenantMetric {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its heading in printed tables; empty: only files have it.
    pub head: &'static str,
    /// Its unit.
    pub unit: Unit,
    of: fn(&Tenant) -> Option<f64>,
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// All of them, in the order of tables.
#[rustfmt::skip]
pub const METRICS: [TenantMetric; 7] = [
    TenantMetric { key: "read_mean_ns", head: "read mean", unit: Unit::Time, of: |t| t.latency_ns.read.mean },
    TenantMetric { key: "write_mean_ns", head: "write mean", unit: Unit::Time, of: |t| t.latency_ns.write.mean },
    TenantMetric { key: "all_mean_ns", head: "mean", unit: Unit::Time, of: |t| t.latency_ns.all.mean },
    TenantMetric { key: "all_p99_ns", head: "p99", unit: Unit::Time, of: |t| whole(t.latency_ns.all.p99) },
    TenantMetric { key: "iops", head: "IOPS", unit: Unit::Rate, of: |t| t.iops },
    TenantMetric { key: "write_amplification", head: "", unit: Unit::Factor, of: |t| t.write_amplification },
    TenantMetric { key: "write_amplification_bytes", head: "write amplification", unit: Unit::Factor, of: |t| t.write_amplification_bytes },
];

/// A tenant of a variant.
#[derive(Clone, Debug)]
pub struct Of {
    /// Its name.
    pub name: String,
    /// By metric, in the order of [`METRICS`]; none where it, or the tenant of that name in the baseline, had nothing to count.
    pub figures: Vec<Option<Figure>>,
}

impl Of {
    /// The figures that tables show, with their metrics.
    pub fn shown(&self) -> impl Iterator<Item = (&TenantMetric, Option<&Figure>)> {
        METRICS.iter().zip(&self.figures).filter(|(of, _)| !of.head.is_empty()).map(|(of, own)| (of, own.as_ref()))
    }

    /// The same, to be judged.
    pub fn shown_mut(&mut self) -> impl Iterator<Item = &mut Figure> {
        METRICS.iter().zip(&mut self.figures).filter(|(of, _)| !of.head.is_empty()).filter_map(|(_, own)| own.as_mut())
    }
}

fn values(outcomes: &[Outcome], name: &str, metric: &TenantMetric) -> Option<Vec<f64>> {
    let of = |outcome: &Outcome| {
        let (_, tenant) = outcome.summary.tenants.as_ref()?.0.iter().find(|(own, _)| own == name)?;
        (metric.of)(tenant)
    };
    outcomes.iter().map(of).collect()
}

/// The tenants of a variant, compared with those of the same names in the baseline, unless it is the baseline itself. Each list has
/// an outcome a seed.
pub fn of(outcomes: &[Outcome], base: Option<&[Outcome]>) -> Vec<Of> {
    let tenants = outcomes.first().and_then(|outcome| outcome.summary.tenants.as_ref());
    let names = tenants.into_iter().flat_map(|tenants| &tenants.0).map(|(name, _)| name.clone());
    let one = |name: String| {
        let figure = |metric: &TenantMetric| {
            let own = values(outcomes, &name, metric)?;
            Some(match base {
                None => Figure::first(own),
                Some(base) => Figure::new(own, &values(base, &name, metric)?),
            })
        };
        let figures = METRICS.iter().map(figure).collect();
        Of { name, figures }
    };
    names.map(one).collect()
}

/// Their part of `ssdlab.compare/1`.
pub fn json(tenants: &[Of], several: bool) -> Json {
    let one = |tenant: &Of| {
        let each = METRICS.iter().zip(&tenant.figures);
        let figures: Map<String, Json> = each
            .map(|(metric, figure)| {
                (metric.key.to_string(), figure.as_ref().map_or(Json::Null, |figure| figure.json(several)))
            })
            .collect();
        (tenant.name.clone(), Json::Object(figures))
    };
    Json::Object(tenants.iter().map(one).collect())
}
