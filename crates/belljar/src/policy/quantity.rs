//! Sizes and durations as people write them. The command line and the document read them with the same functions.

use std::time::Duration;

/// Reads `1G`, `512M`, `512MB`, `512MiB`, `64k` or a plain number of bytes. Units are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Writes a size with the largest unit that loses nothing.
pub fn format_size(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let fits = units
        .iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    fits.map_or(bytes.to_string(), |(shift, unit)| {
        format!("{}{unit}", bytes >> shift)
    })
}

/// A size for people, in powers of 1024.
pub fn readable_size(size: u64) -> String {
    const NAMES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..NAMES.len() - 1)
        .find(|unit| size >> (10 * unit) < 1024)
        .unwrap_or(NAMES.len() - 1);
    let value = size as f64 / 1024f64.powi(unit as i32);
    if value.fract() == 0.0 {
        format!("{value} {}", NAMES[unit])
    } else {
        format!("{value:.1} {}", NAMES[unit])
    }
}

const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Reads `30s`, `500ms`, `1.5s`, `2m`, `1h30m` or a plain number of seconds.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total: u128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let number = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count();
        let (amount, after) = rest.split_at(number);
        let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, next) = after.split_at(letters);
        // Without a unit it is seconds, but only when it stands alone: `1m30` is a slip, not a duration.
        let unit = if unit.is_empty() && rest.len() == text.trim().len() && next.is_empty() {
            "s"
        } else {
            unit
        };
        let nanos = UNITS.iter().find(|(name, _)| *name == unit)?.1;
        total = total.checked_add(scale(amount, nanos)?)?;
        rest = next;
    }
    let seconds = u64::try_from(total / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, u32::try_from(total % 1_000_000_000).ok()?))
}

/// A decimal number times a unit; digits below a nanosecond are refused, not rounded.
fn scale(amount: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
    let places = u32::try_from(fraction.len())
        .ok()
        .filter(|places| *places <= 18)?;
    let part = |digits: &str| {
        let plain =
            !digits.is_empty() && digits.len() <= 30 && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<u128>().ok()).flatten()
    };
    let (whole, fraction) = (
        part(whole)?.checked_mul(unit)?,
        part(fraction)?.checked_mul(unit)?,
    );
    let ten = 10_u128.pow(places);
    (fraction % ten == 0)
        .then(|| whole.checked_add(fraction / ten))
        .flatten()
}

/// Writes a duration with the largest unit that loses nothing.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, size) = UNITS
        .iter()
        .find(|(_, size)| nanos > 0 && nanos.is_multiple_of(*size))
        .unwrap_or(&("s", 1_000_000_000));
    format!("{}{unit}", nanos / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [
            ("1G", 1 << 30),
            ("512M", 512 << 20),
            ("512MB", 512 << 20),
            ("512MiB", 512 << 20),
            ("64k", 65_536),
            ("0", 0),
            ("1000", 1000),
            ("7b", 7),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "G",
            "-1",
            "1.5G",
            "1 G",
            "1GG",
            "1e9",
            "0x10",
            "99999999999999999999",
            "16777216T",
            "１G",
            "+1",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn durations_add_up() {
        for (text, millis) in [
            ("30s", 30_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1_500),
            ("10", 10_000),
            ("0.25", 250),
            ("0s", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Some(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in [
            "",
            "s",
            "-1s",
            "1m30",
            "1 s",
            "1x",
            "1.s",
            ".5s",
            "1..5s",
            "1e3",
            "inf",
            "none",
            "9999999999999999999999s",
            "0.0000000001s",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: u64, seconds: u64, nanos in 0_u32..1_000_000_000) {
            prop_assert_eq!(parse_size(&format_size(bytes)), Some(bytes));
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }

        #[test]
        fn readers_are_total(text in ".{0,40}") {
            parse_size(&text);
            parse_duration(&text);
        }
    }
}
