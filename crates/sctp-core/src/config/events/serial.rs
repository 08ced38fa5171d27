//! A mask of events as data: the list of the groups that are told.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{EventGroup, EventMask};

impl Serialize for EventMask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(EventGroup::ALL.into_iter().filter(|group| self.has(*group)))
    }
}

impl<'de> Deserialize<'de> for EventMask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let groups = Vec::<EventGroup>::deserialize(deserializer)?;
        Ok(groups.into_iter().fold(Self::NONE, Self::with))
    }
}
