//! The statistics of blocking as data: streams, and a histogram with the upper ends of its buckets.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{BlockingHistogram, BlockingStatistics};

impl Serialize for BlockingStatistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("BlockingStatistics", 2)?;
        fields.serialize_field("streams", &self.streams)?;
        fields.serialize_field("histogram", &self.histogram)?;
        fields.end()
    }
}

impl Serialize for BlockingHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("BlockingHistogram", 3)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("sum", &self.sum)?;
        fields.serialize_field("buckets", &self.iter().collect::<Vec<_>>())?;
        fields.end()
    }
}
