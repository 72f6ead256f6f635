//! `ssdlab ladder`

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::args::shared::ReportOptions;
use crate::args::{ConfigArgs, HowArgs, InputArgs, TableArgs};

/// Most depths of a ladder.
const MOST: usize = 64;

/// `ssdlab ladder`
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  ssdlab ladder --workload quickstart --limit 40000
  ssdlab ladder --workload random-read --depth 1..256
  ssdlab ladder --trace web.csv.zst --lba-policy dense --depth 1,8,32 --preset nvme-tlc
  ssdlab ladder --workload random-write --set precondition.mode=random --repeat 3 --csv > ladder.csv

Every request that completes is replaced by the next one (--replay closed), so the device always has
as many requests as the depth says; arrival times are not used. Exit status as for compare.")]
pub struct LadderArgs {
    /// Queue depths: FROM..TO, doubled from FROM on and with TO itself, or a list such as 1,8,32
    #[arg(long, value_name = "FROM..TO|N,...", default_value = "1..256", help_heading = "Variants")]
    pub depth: Depths,
    /// Where the configuration comes from.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Where the requests come from.
    #[command(flatten)]
    pub input: InputArgs,
    /// Run every depth with this many seeds, from --seed on, and give 95 % confidence intervals
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Variants")]
    pub repeat: u64,
    /// How it is simulated.
    #[command(flatten)]
    pub how: HowArgs,
    /// The form of the table.
    #[command(flatten)]
    pub table: TableArgs,
    /// Write one row per depth with all figures
    #[arg(long, value_name = "FILE.csv|.parquet", help_heading = "Results")]
    pub rows: Option<PathBuf>,
    /// The report.
    #[command(flatten)]
    pub report: ReportOptions,
}

/// Queue depths, each more than the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Depths(pub Vec<u32>);

impl FromStr for Depths {
    type Err = String;

    fn from_str(text: &str) -> Result<Depths, String> {
        let expected =
            || format!("`{text}` is no ladder: expected depths such as 1..256, or 1,8,32, each above the last");
        let depth = |text: &str| text.trim().parse::<u32>().ok().filter(|depth| *depth > 0).ok_or_else(expected);
        let depths: Vec<u32> = match text.split_once("..") {
            Some((from, to)) => {
                let (from, to) = (depth(from)?, depth(to)?);
                if from > to {
                    return Err(expected());
                }
                let doubled = std::iter::successors(Some(from), |depth| depth.checked_mul(2));
                doubled.take_while(|depth| *depth < to).chain([to]).collect()
            }
            None => text.split(',').map(depth).collect::<Result<_, _>>()?,
        };
        let rises = depths.windows(2).all(|pair| pair[0] < pair[1]);
        if rises && depths.len() <= MOST { Ok(Depths(depths)) } else { Err(expected()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_double_up_to_the_last() {
        let of = |text: &str| text.parse::<Depths>().map(|depths| depths.0);
        assert_eq!(of("1..256"), Ok(vec![1, 2, 4, 8, 16, 32, 64, 128, 256]));
        assert_eq!(of("3..20"), Ok(vec![3, 6, 12, 20]));
        assert_eq!(of("8..8"), Ok(vec![8]));
        assert_eq!(of("1, 8,32"), Ok(vec![1, 8, 32]));
        for text in ["", "0..8", "8..1", "1,1", "4,2", "1..", "x", "-1..4"] {
            assert!(of(text).is_err_and(|error| error.contains("1..256")), "{text}");
        }
    }
}
