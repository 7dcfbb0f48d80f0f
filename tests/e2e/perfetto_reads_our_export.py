"""Decodes a Perfetto trace with the reference protos and checks what a reader relies on; prints "name got want" per check.
With a second argument the trace is of a run on a GPU or with requests, and the file says what these tables hold: category|rows|ns|bytes."""
import sys
from collections import Counter, defaultdict

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
Event, Packet = pb.TrackEvent, pb.TracePacket


def check(name, got, want):
    print(name.replace(" ", "_"), str(got).replace(" ", ""), str(want).replace(" ", ""))


def unknown_fields(message):
    """Fields the reference protos do not know: a wrong field number shows here."""
    try:
        from google.protobuf.unknown_fields import UnknownFieldSet
    except ImportError:
        return 0
    n = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED
            n += sum(unknown_fields(m) for m in (value if repeated else [value]))
    return n


names, categories, notes, tracks = {}, {}, {}, {}
begins, ends, flows, late, slices, gpu_bytes = [], [], Counter(), 0, Counter(), Counter()
cleared = False
for p in trace.packet:
    cleared |= bool(p.sequence_flags & Packet.SEQ_INCREMENTAL_STATE_CLEARED)
    if p.sequence_flags & Packet.SEQ_NEEDS_INCREMENTAL_STATE and not cleared:
        late += 1
    names.update((n.iid, n.name) for n in p.interned_data.event_names)
    categories.update((n.iid, n.name) for n in p.interned_data.event_categories)
    notes.update((n.iid, n.name) for n in p.interned_data.debug_annotation_names)
    if p.HasField("track_descriptor"):
        tracks[p.track_descriptor.uuid] = p.track_descriptor
    if not p.HasField("track_event"):
        continue
    e = p.track_event
    late += e.track_uuid not in tracks
    if e.type == Event.TYPE_SLICE_BEGIN:
        late += any(c not in categories for c in e.category_iids) or any(not a.name and a.name_iid not in notes for a in e.debug_annotations)
        late += not e.name and e.name_iid not in names
        category = e.categories[0] if e.categories else categories.get(e.category_iids[0])
        begins.append((e.track_uuid, p.timestamp, e.name or names.get(e.name_iid)))
        slices[e.name or names.get(e.name_iid), category] += 1
        gpu_bytes[category] += sum(a.uint_value for a in e.debug_annotations if a.name == "bytes")
        for f in list(e.flow_ids) + list(e.terminating_flow_ids):
            flows[f] += 1
    elif e.type == Event.TYPE_SLICE_END:
        ends.append((e.track_uuid, p.timestamp))

# As the trace processor does: sorted by time, file order among equals, an end closes the innermost open slice of its track.
open_slices, wrong, lengths, of_category = {}, 0, Counter(), defaultdict(list)
for p in sorted((p for p in trace.packet if p.HasField("track_event")), key=lambda p: p.timestamp):
    e = p.track_event
    if e.type == Event.TYPE_SLICE_BEGIN:
        open_slices.setdefault(e.track_uuid, []).append((p.timestamp, e.name or names[e.name_iid], e.categories[0] if e.categories else "span"))
    elif e.type == Event.TYPE_SLICE_END:
        if not open_slices.get(e.track_uuid):
            wrong += 1
            continue
        start, name, category = open_slices[e.track_uuid].pop()
        lengths[name, p.timestamp - start] += 1
        of_category[category].append(p.timestamp - start)

check("no field is unknown", unknown_fields(trace), 0)
check("nothing is used before it is declared", late, 0)
check("one sequence", sorted({p.trusted_packet_sequence_id for p in trace.packet}), [1])
check("clock", trace.packet[0].clock_snapshot.primary_trace_clock, pb.BUILTIN_CLOCK_MONOTONIC)
check("slices that end without having begun", wrong, 0)
check("slices never ended", sum(len(s) for s in open_slices.values()), 0)

if len(sys.argv) > 2:

    def above(uuid):
        """The names of the tracks above a track, from the outermost on."""
        t = tracks[uuid]
        return (above(t.parent_uuid) if t.parent_uuid else []) + [t.name or t.thread.thread_name or t.process.process_name]

    of_gpu = {e.track_uuid for e in (p.track_event for p in trace.packet) if e.type == Event.TYPE_SLICE_BEGIN and e.categories}
    got = "".join(f"{c}|{len(ns)}|{sum(ns)}|{gpu_bytes[c]}\n" for c, ns in sorted(of_category.items()) if c != "span")
    check("each row of the table", got.split(), open(sys.argv[2]).read().split())
    if "request" in of_category:
        check("requests lie under one track", {a[-2] for a in map(above, of_gpu)}, {"requests to storage"})
        sys.exit()
    check("streams lie under their device", {a[0].split(" (")[0] for a in map(above, of_gpu) if a[-1].startswith("stream")}, {"GPU 0: Fake GPU 0"})
    check("calls beside who made them", all(a[-2] in a[-1] for a in map(above, of_gpu) if "CUDA calls" in a[-1]), True)
    sys.exit()

check("slices", (len(begins), len(ends)), (350, 350))
check("names", slices[("decode", "work")], 50)
check("waits", slices[("data_wait", "wait")], 50)
check("each length as recorded", sorted(lengths.items()),
      sorted({("read", 200000): 50, ("decode", 300000): 50, ("transform", 200000): 50, ("collate", 100000): 50, ("h2d", 1100000): 50,
              ("data_wait", 900000): 50, ("step", 100000): 50}.items()))
check("flows of three hops", sorted(Counter(flows.values()).items()), [(3, 50)])
check("threads", sorted(t.thread.thread_name for t in tracks.values() if t.HasField("thread")), ["pp-copy", "pp-trainer", "pp-worker-0", "pp-worker-1"])
check("a track for the overlapping copies", [t.name for t in tracks.values() if "overlapping" in t.name], ["pp-copy (overlapping 1)"])
check("counter tracks", [t.name for t in tracks.values() if t.HasField("counter")], ["queue_ready_batches"])
check("counts", sum(1 for p in trace.packet if p.track_event.type == Event.TYPE_COUNTER), 5)
check("losses and errors", sorted(p.track_event.name for p in trace.packet if p.track_event.type == Event.TYPE_INSTANT), ["corrupt", "lost"])
