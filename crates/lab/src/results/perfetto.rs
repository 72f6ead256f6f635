//! The messages of a Perfetto trace that timelines consist of, with the field numbers of `perfetto/trace/trace.proto`.

/// A trace: packets in any order of time.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// Its packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// An event or the description of a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The writer of the packet.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// An event.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// A track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// A track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Its name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The parent track.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// How the tracks in it are ordered; see [`EXPLICIT`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its rank among the tracks of its parent.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// The beginning or the end of a slice.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Details.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// [`SLICE_BEGIN`] or [`SLICE_END`].
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// `host` or `gc`.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// The name of the slice.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Slices with the same number belong together.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
}

/// A name and a number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// The name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
    /// The number.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
}

/// A slice begins.
pub const SLICE_BEGIN: i32 = 1;
/// The slice that began last on the track ends.
pub const SLICE_END: i32 = 2;
/// Tracks are shown in the order of their ranks.
pub const EXPLICIT: i32 = 3;
