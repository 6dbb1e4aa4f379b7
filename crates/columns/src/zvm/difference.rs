//! One step of a counter: from two readings to a difference.

use super::plan::{Difference, Direction};

/// A direction that is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountDirection {
    Up,
    Down,
}

/// Change between two readings of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterChange {
    /// The amount by which it advanced.
    By(i64),
    /// It ran further than a signed 8-byte column holds.
    Overflow(u64),
    /// It stepped back, and not by wrapping: it was reset.
    Reset,
    /// It stepped back, and neither a wrap nor a reset explains it.
    Decrease,
}

/// Comparison of the values of one counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CounterRule {
    bits: u32,
    mask: u64,
    /// The sign bit of a signed counter, else zero.
    sign: u64,
    /// A step back of these is a reset by nature: 8-byte counters do not wrap in a lifetime, timers not at all.
    resets: bool,
    half: f64,
    max_rate: f64,
}

impl CounterRule {
    pub(crate) fn new(difference: &Difference) -> Self {
        let bits = 8 * u32::from(difference.width.clamp(1, 8));
        Self {
            bits,
            mask: u64::MAX >> (64 - bits),
            sign: if difference.signed {
                1 << (bits - 1)
            } else {
                0
            },
            resets: bits == 64 || difference.direction != Direction::Up,
            half: difference.half_range * 2f64.powi(bits.cast_signed()),
            max_rate: difference.max_rate,
        }
    }

    /// The step from one reading to the next, `seconds` later.
    #[inline]
    pub(crate) fn step(
        &self,
        way: CountDirection,
        previous: i64,
        current: i64,
        seconds: f64,
    ) -> CounterChange {
        let (from, to) = match way {
            CountDirection::Up => (previous, current),
            CountDirection::Down => (current, previous),
        };
        let ran = to.wrapping_sub(from).cast_unsigned() & self.mask;
        if self.order(from) <= self.order(to) {
            return i64::try_from(ran).map_or(CounterChange::Overflow(ran), CounterChange::By);
        }
        let distance = ran as f64;
        if distance <= self.half && distance <= self.max_rate * seconds {
            i64::try_from(ran).map_or(CounterChange::Overflow(ran), CounterChange::By)
        } else if self.resets {
            CounterChange::Reset
        } else {
            CounterChange::Decrease
        }
    }

    /// Returns the direction in which a counter moved, by the shorter distance; `None` if it did not move.
    pub(crate) fn likely_direction(&self, previous: i64, current: i64) -> Option<CountDirection> {
        let ran = current.wrapping_sub(previous).cast_unsigned() & self.mask;
        match ran {
            0 => None,
            _ if ran >> (self.bits - 1) == 0 => Some(CountDirection::Up),
            _ => Some(CountDirection::Down),
        }
    }

    /// A reading as a number whose unsigned order is that of the counter.
    #[inline]
    fn order(&self, reading: i64) -> u64 {
        (reading.cast_unsigned() & self.mask) ^ self.sign
    }

    /// A reading as it is printed.
    pub(crate) fn reading(&self, reading: i64) -> i128 {
        i128::from(self.order(reading)) - i128::from(self.sign)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Applies the documented rule, in numbers that cannot overflow.
    fn naive(
        rule: &Difference,
        way: CountDirection,
        previous: i128,
        current: i128,
        seconds: f64,
    ) -> CounterChange {
        let range = 1i128 << (8 * i32::from(rule.width));
        let ran = if way == CountDirection::Up {
            current - previous
        } else {
            previous - current
        };
        let wrapped = ran + range;
        let plausible = wrapped as f64 <= rule.half_range * range as f64
            && wrapped as f64 <= rule.max_rate * seconds;
        let by = |ran: i128| {
            i64::try_from(ran).map_or(CounterChange::Overflow(ran as u64), CounterChange::By)
        };
        if ran >= 0 {
            by(ran)
        } else if plausible {
            by(wrapped)
        } else if rule.width == 8 || rule.direction != Direction::Up {
            CounterChange::Reset
        } else {
            CounterChange::Decrease
        }
    }

    /// A counter value: any, or one near its wrap.
    fn reading(width: u8, signed: bool) -> impl Strategy<Value = i128> {
        let range = 1i128 << (8 * i32::from(width));
        let low = if signed { -range / 2 } else { 0 };
        let high = low + range - 1;
        prop_oneof![
            low..=high,
            low..=low + 40.min(range - 1),
            high - 40.min(range - 1)..=high
        ]
    }

    fn case() -> impl Strategy<Value = (Difference, CountDirection, i128, i128, f64)> {
        let directions = prop_oneof![
            Just(Direction::Up),
            Just(Direction::Down),
            Just(Direction::Learn)
        ];
        (
            prop_oneof![Just(1u8), Just(2), Just(4), Just(6), Just(8)],
            any::<bool>(),
            directions,
        )
            .prop_flat_map(|(width, signed, direction)| {
                let way = match direction {
                    Direction::Up => Just(CountDirection::Up).boxed(),
                    Direction::Down => Just(CountDirection::Down).boxed(),
                    Direction::Learn => {
                        prop_oneof![Just(CountDirection::Up), Just(CountDirection::Down)].boxed()
                    }
                };
                let bounds = (
                    prop_oneof![Just(0.5), 0.0..1.0f64],
                    prop_oneof![Just(f64::INFINITY), 0.0..1e7f64],
                );
                (
                    way,
                    reading(width, signed),
                    reading(width, signed),
                    0.0..4000.0f64,
                    bounds,
                )
                    .prop_map(
                        move |(way, previous, current, seconds, (half_range, max_rate))| {
                            let rule = Difference {
                                width,
                                signed,
                                direction,
                                half_range,
                                max_rate,
                            };
                            (rule, way, previous, current, seconds)
                        },
                    )
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn differences_follow_written_rule((rule, way, previous, current, seconds) in case()) {
            // The column holds the low bits, with sign extension if the field is signed.
            let step = CounterRule::new(&rule).step(way, previous as i64, current as i64, seconds);
            prop_assert_eq!(step, naive(&rule, way, previous, current, seconds));
        }
    }

    fn rule(width: u8, signed: bool, direction: Direction, max_rate: f64) -> CounterRule {
        CounterRule::new(&Difference {
            width,
            signed,
            direction,
            half_range: 0.5,
            max_rate,
        })
    }

    #[test]
    fn short_counters_wrap_at_their_width() {
        let narrow = rule(2, false, Direction::Up, 1e4);
        assert_eq!(
            narrow.step(CountDirection::Up, 0xFFF0, 0x0010, 60.0),
            CounterChange::By(0x20)
        );
        assert_eq!(
            narrow.step(CountDirection::Up, 0xFFF0, 0xFFEF, 60.0),
            CounterChange::Decrease
        );
        let full = rule(4, false, Direction::Up, 1e7);
        assert_eq!(
            full.step(CountDirection::Up, 0xFFFF_FFFF, 4, 60.0),
            CounterChange::By(5)
        );
        // Half the range is allowed, the rate is not.
        assert_eq!(
            full.step(CountDirection::Up, 0xC000_0000, 0, 60.0),
            CounterChange::Decrease
        );
        assert_eq!(
            full.step(CountDirection::Up, 0xC000_0000, 0, 600.0),
            CounterChange::By(0x4000_0000)
        );
        let signed = rule(4, true, Direction::Up, 1e7);
        assert_eq!(
            signed.step(CountDirection::Up, 0x7FFF_FFFF, -0x8000_0000, 1.0),
            CounterChange::By(1)
        );
        assert_eq!(
            signed.step(CountDirection::Up, -1, 1, 0.0),
            CounterChange::By(2)
        );
        assert_eq!(
            signed.step(CountDirection::Up, 5, 4, 60.0),
            CounterChange::Decrease
        );
    }

    #[test]
    fn long_counters_and_timers_are_reset() {
        let long = rule(8, false, Direction::Up, 1e7);
        assert_eq!(
            long.step(CountDirection::Up, 1_000_000, 5, 60.0),
            CounterChange::Reset
        );
        assert_eq!(
            long.step(CountDirection::Up, -2, 3, 60.0),
            CounterChange::By(5)
        );
        assert_eq!(
            long.step(CountDirection::Up, 0, -1, 60.0),
            CounterChange::Overflow(u64::MAX)
        );
        let timer = rule(8, false, Direction::Down, 1e10);
        assert_eq!(
            timer.step(
                CountDirection::Down,
                0x7FFF_FFFF_FFFF_FFFF,
                0x7FFF_FFFF_FFFF_0000,
                60.0
            ),
            CounterChange::By(0xFFFF)
        );
        assert_eq!(
            timer.step(CountDirection::Down, 5, -3, 60.0),
            CounterChange::By(8)
        );
        assert_eq!(
            timer.step(CountDirection::Down, 5, 0x7FFF_FFFF_FFFF_FFFF, 60.0),
            CounterChange::Reset
        );
    }

    #[test]
    fn direction_is_shorter_way() {
        let timer = rule(8, false, Direction::Learn, 1e10);
        assert_eq!(timer.likely_direction(7, 7), None);
        assert_eq!(timer.likely_direction(7, 9), Some(CountDirection::Up));
        assert_eq!(timer.likely_direction(9, 7), Some(CountDirection::Down));
        assert_eq!(
            rule(4, false, Direction::Learn, 1e7).likely_direction(0xFFFF_FFFF, 1),
            Some(CountDirection::Up)
        );
        assert_eq!(timer.reading(-1), i128::from(u64::MAX));
        assert_eq!(rule(2, true, Direction::Up, 1e7).reading(-5), -5);
    }
}
