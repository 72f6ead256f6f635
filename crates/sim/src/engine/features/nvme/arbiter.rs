//! Arbitration between queues: round robin, or weighted round robin with an urgent class.

use crate::config::{Arbitration, Nvme, QueuePriority};

/// Round robin within a class.
#[derive(Clone, Debug)]
struct Turns {
    /// Queues of the class, in order of the list.
    queues: Vec<usize>,
    /// Place of the queue whose turn it is, and commands taken in this turn.
    current: Option<(usize, u32)>,
}

impl Turns {
    /// The next queue that may have a slot: the one whose turn it is until it has had `burst`, then the next in order.
    fn next(&mut self, burst: u32, may: &dyn Fn(usize) -> bool) -> Option<usize> {
        if let Some((place, taken)) = self.current
            && taken < burst
            && may(self.queues[place])
        {
            self.current = Some((place, taken + 1));
            return Some(self.queues[place]);
        }
        let count = self.queues.len();
        let after = self.current.map_or(0, |(place, _)| place + 1);
        let place = (0..count).map(|step| (after + step) % count).find(|place| may(self.queues[*place]))?;
        self.current = Some((place, 1));
        Some(self.queues[place])
    }

    /// Ends the turn of a queue.
    fn end(&mut self, ends: &dyn Fn(usize) -> bool, burst: u32) {
        if let Some((place, taken)) = &mut self.current
            && ends(self.queues[*place])
        {
            *taken = burst;
        }
    }
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub(super) struct Arbiter {
    burst: u32,
    /// By class, the first served first; all queues in one for round robin.
    classes: Vec<Turns>,
    /// Whether the first class uses no credit.
    urgent: bool,
    weights: Vec<u32>,
    credits: Vec<u32>,
}

impl Arbiter {
    pub(super) fn new(nvme: &Nvme) -> Self {
        let all = 0..nvme.queues.len();
        let of = |class: QueuePriority| Turns {
            queues: all.clone().filter(|queue| nvme.queues[*queue].class == class).collect(),
            current: None,
        };
        let weighted = nvme.arbitration == Arbitration::Wrr;
        let classes = if weighted {
            [QueuePriority::Urgent, QueuePriority::High, QueuePriority::Medium, QueuePriority::Low].map(of).into()
        } else {
            vec![Turns { queues: all.collect(), current: None }]
        };
        let weights: Vec<u32> = nvme.queues.iter().map(|queue| queue.weight).collect();
        Arbiter { burst: nvme.burst, classes, urgent: true, credits: weights.clone(), weights }
    }

    /// The queue that gets the next slot, of those that are ready. (With round robin all are in the first class.)
    pub(super) fn pick(&mut self, ready: &dyn Fn(usize) -> bool) -> Option<usize> {
        let burst = self.burst;
        if self.urgent
            && let Some(queue) = self.classes[0].next(burst, ready)
        {
            return Some(queue);
        }
        if !self.classes[1..].iter().flat_map(|class| &class.queues).any(|queue| ready(*queue)) {
            return None;
        }
        loop {
            let credits = &self.credits;
            let may = |queue: usize| ready(queue) && credits[queue] > 0;
            if let Some(queue) = self.classes[1..].iter_mut().find_map(|class| class.next(burst, &may)) {
                self.credits[queue] -= 1;
                return Some(queue);
            }
            // No queue with a command has credit.
            let spent = |queue: usize| credits[queue] == 0;
            self.classes[1..].iter_mut().for_each(|class| class.end(&spent, burst));
            self.credits.clone_from(&self.weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(toml: &str, mut commands: Vec<u32>) -> String {
        let config: crate::config::Config = toml.parse().unwrap();
        let mut arbiter = Arbiter::new(&config.nvme);
        let mut order = String::new();
        loop {
            let left = commands.clone();
            let Some(queue) = arbiter.pick(&|queue| left[queue] > 0) else { return order };
            commands[queue] -= 1;
            order.push(char::from(b'A' + queue as u8));
        }
    }

    fn queues(arbitration: &str, burst: u32, queues: &[(&str, u32)]) -> String {
        let list: Vec<String> = (queues.iter().enumerate())
            .map(|(i, (class, weight))| format!("{{ name = \"q{i}\", class = \"{class}\", weight = {weight} }}"))
            .collect();
        format!("nvme = {{ arbitration = \"{arbitration}\", burst = {burst}, queues = [{}] }}", list.join(", "))
    }

    #[test]
    fn credits_and_bursts_decide() {
        assert_eq!(grants(&queues("wrr", 1, &[("high", 3), ("low", 1)]), vec![4, 4]), "AAABABBB");
        assert_eq!(grants(&queues("rr", 1, &[("high", 3), ("low", 1)]), vec![4, 4]), "ABABABAB");
        assert_eq!(grants(&queues("wrr", 4, &[("medium", 3), ("medium", 1)]), vec![6, 3]), "AAABAAABB");
        assert_eq!(grants(&queues("wrr", 1, &[("medium", 3), ("medium", 1)]), vec![6, 3]), "ABAABAAAB");
        assert_eq!(grants(&queues("rr", 2, &[("high", 1), ("low", 1)]), vec![5, 3]), "AABBAABA");
        // Urgent queues go first and use no credit.
        assert_eq!(grants(&queues("wrr", 1, &[("low", 1), ("urgent", 1)]), vec![2, 3]), "BBBAA");
    }

    /// Over any interval in which all queues have commands, grants differ from weights by at most one round.
    #[test]
    fn grants_follow_weights() {
        for (burst, weights) in [(1, [5, 2, 1]), (3, [4, 4, 1]), (16, [7, 3, 2])] {
            let of = [("high", weights[0]), ("medium", weights[1]), ("medium", weights[2])];
            let order = grants(&queues("wrr", burst, &of), vec![10_000; 3]);
            let order = &order.as_bytes()[..9_000];
            let round: u32 = weights.iter().sum();
            for (from, to) in [(0, 9_000), (13, 5_017), (4_000, 4_500)] {
                for (queue, weight) in weights.iter().enumerate() {
                    let grants = order[from..to].iter().filter(|q| usize::from(**q - b'A') == queue).count() as f64;
                    let due = (to - from) as f64 * f64::from(*weight) / f64::from(round);
                    assert!((grants - due).abs() <= f64::from(round), "{grants} of {due}");
                }
            }
        }
    }
}
