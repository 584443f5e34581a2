//! Time zones: Go's `time.Location`.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::world::World;

/// A zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Zone {
    Utc,
    /// Always the same offset, in seconds east; the name may be empty.
    Fixed(Arc<str>, i64),
    /// A zone of the database.
    Named(TimeZone),
    /// The local zone, if it is not UTC.
    Local(TimeZone),
}

impl Zone {
    /// The zone with a name, as in Go's `LoadLocation`: names are case-sensitive.
    pub(super) fn load(name: &str, world: &dyn World) -> Option<Self> {
        match name {
            "" | "UTC" => Some(Self::Utc),
            "Local" => Some(Self::local(world)),
            name => find(name).map(Self::Named),
        }
    }

    /// The zone that `TZ` names, or UTC.
    pub(super) fn local(world: &dyn World) -> Self {
        let name = world.env("TZ").unwrap_or_default();
        match find(name.trim_start_matches(':')) {
            Some(zone) if name != "UTC" => Self::Local(zone),
            _ => Self::Utc,
        }
    }

    /// Seconds east of UTC at a moment, and the zone's name at that moment.
    pub(super) fn offset(&self, seconds: i64) -> (i64, Arc<str>) {
        match self {
            Self::Utc => (0, "UTC".into()),
            Self::Fixed(name, offset) => (*offset, Arc::clone(name)),
            Self::Named(zone) | Self::Local(zone) => {
                let info = zone.to_offset_info(timestamp(seconds));
                (i64::from(info.offset().seconds()), info.abbreviation().into())
            }
        }
    }

    pub(super) fn is_dst(&self, seconds: i64) -> bool {
        match self {
            Self::Utc | Self::Fixed(..) => false,
            Self::Named(zone) | Self::Local(zone) => zone.to_offset_info(timestamp(seconds)).dst().is_dst(),
        }
    }

    /// The offset with this name in this zone around a moment, if any.
    pub(super) fn offset_named(&self, name: &str, seconds: i64) -> Option<i64> {
        const HALF_YEAR: i64 = 183 * 86_400;
        [0, HALF_YEAR, -HALF_YEAR].into_iter().find_map(|away| {
            let (offset, found) = self.offset(seconds.wrapping_add(away));
            (*found == *name).then_some(offset)
        })
    }
}

fn find(name: &str) -> Option<TimeZone> {
    let zone = TimeZoneDatabase::bundled().get(name).ok()?;
    (zone.iana_name() == Some(name)).then_some(zone)
}

fn timestamp(seconds: i64) -> Timestamp {
    let limit = |edge: Timestamp| edge.as_second();
    let seconds = seconds.clamp(limit(Timestamp::MIN), limit(Timestamp::MAX));
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}
