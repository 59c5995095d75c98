// Evaluates queries on a node's rows.
#include <algorithm>

#include "multilog/headers/pcapng_writer.h"
#include "multilog/node/node_messages.h"
#include "multilog/node/node_service.h"

namespace tapline::multilog {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;
// The maximum size of a reply; clients accept messages up to 4 MiB.
constexpr size_t kMaxReplyBytes = 4'000'000;

// The greatest limit with which a query's rows are sorted by time.
constexpr uint64_t kMaxSorted = 200'000;

// Calls take(row) for each row until it returns false, the limit is reached, or the client disconnects.
template <typename Reply, typename Take>
void for_each_row(Cursor* cursor, uint64_t limit, const NodeStream<Reply>& stream, Take take) {
  uint64_t left = limit == 0 ? UINT64_MAX : limit;
  for (auto rows = cursor->next(); !rows.empty() && !stream.is_cancelled(); rows = cursor->next()) {
    for (const uint8_t* row : rows) {
      if (left-- == 0 || !take(row)) return;
    }
  }
}

// Packs rows into messages, and sends each message once it is full.
class RowSender {
 public:
  RowSender(uint32_t row_bytes, NodeStream<v1::RowBatch>* stream) : row_bytes_(row_bytes), stream_(stream) {}
  // Returns false if the client has disconnected.
  bool add(const uint8_t* row) {
    batch_.mutable_rows()->append(reinterpret_cast<const char*>(row), row_bytes_);
    if (batch_.rows().size() < kPieceBytes) return true;
    const bool was_taken = stream_->write(batch_);
    batch_.Clear();
    return was_taken;
  }
  void end(uint64_t unreadable) {
    batch_.set_unreadable_segments(unreadable);
    stream_->write_last(std::move(batch_));
  }

 private:
  const uint32_t row_bytes_;
  NodeStream<v1::RowBatch>* stream_;
  v1::RowBatch batch_;
};

// Each writer's first matching rows. They include the earliest ones of the whole log, since each writer's rows are in
// capture order.
struct FirstRows {
  std::vector<uint8_t> bytes;
  std::vector<std::pair<uint64_t, size_t>> by_time;  // time, and position in `bytes`
  uint64_t unreadable = 0;
};

bool depends_on_aggregates(const v1::QueryRequest& request, const Schema& schema) {
  if (has_trees(request) && !aggregates_of(request.condition()).empty()) return true;
  bool is_plain = has_trees(request) || Expression::compile(request.expression(), schema).ok();
  for (const std::string& within : request.within()) is_plain = is_plain && Expression::compile(within, schema).ok();
  return !is_plain;
}

}  // namespace

Result<Snapshot> NodeService::snapshot_for(const v1::QueryRequest& request) {
  Snapshot snapshot = node_->log().take_snapshot();
  if (!request.has_at()) return snapshot;
  if (request.at().incarnation() != node_->incarnation())
    return Status(Code::kNotFound, "the snapshot is from before this node's restart; take a new one");
  const std::vector<uint64_t> tails(request.at().rows().begin(), request.at().rows().end());
  snapshot.cut_to(tails);
  return snapshot;
}

Result<Cursor> NodeService::cursor_for(const v1::QueryRequest& request) {
  auto snapshot = snapshot_for(request);
  if (!snapshot.ok()) return snapshot.status();
  return node_->log().query(spec_of(request), std::move(*snapshot));
}

grpc::Status NodeService::query(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream) {
  const bool sorted = request.limit() > 0 && request.limit() <= kMaxSorted && node_->log().writers() > 1 &&
                      !depends_on_aggregates(request, node_->layout().schema());
  if (sorted) return query_earliest(request, stream);
  auto cursor = cursor_for(request);
  if (!cursor.ok()) return to_grpc(cursor.status());
  RowSender sender(node_->layout().row_bytes(), stream);
  for_each_row(&*cursor, request.limit(), *stream, [&](const uint8_t* row) { return sender.add(row); });
  if (stream->is_cancelled()) return grpc::Status::CANCELLED;
  sender.end(cursor->statistics().unreadable);
  return grpc::Status::OK;
}

grpc::Status NodeService::query_earliest(const v1::QueryRequest& request, NodeStream<v1::RowBatch>* stream) {
  const Schema& schema = node_->layout().schema();
  FirstRows first_rows;
  auto whole = snapshot_for(request);
  if (!whole.ok()) return to_grpc(whole.status());
  for (uint32_t number = 0; number < node_->log().writers(); ++number) {
    std::vector<uint64_t> tails(number + 1);
    for (const Snapshot::View& view : whole->views()) {
      if (view.log->number() == number) tails[number] = view.tail;
    }
    Snapshot snapshot = node_->log().take_snapshot();
    snapshot.cut_to(tails);
    auto cursor = node_->log().query(spec_of(request), std::move(snapshot));
    if (!cursor.ok()) return to_grpc(cursor.status());
    for_each_row(&*cursor, request.limit(), *stream, [&](const uint8_t* row) {
      first_rows.by_time.emplace_back(time_of(schema, row), first_rows.bytes.size());
      first_rows.bytes.insert(first_rows.bytes.end(), row, row + schema.row_bytes());
      return true;
    });
    first_rows.unreadable += cursor->statistics().unreadable;
  }
  if (stream->is_cancelled()) return grpc::Status::CANCELLED;
  std::sort(first_rows.by_time.begin(), first_rows.by_time.end());
  if (first_rows.by_time.size() > request.limit()) first_rows.by_time.resize(request.limit());
  RowSender sender(schema.row_bytes(), stream);
  for (const auto& [time, offset] : first_rows.by_time) {
    if (!sender.add(first_rows.bytes.data() + offset)) break;
  }
  sender.end(first_rows.unreadable);
  return grpc::Status::OK;
}

grpc::Status NodeService::pcapng(const v1::QueryRequest& request, NodeStream<v1::PcapngPiece>* stream) {
  auto cursor = cursor_for(request);
  if (!cursor.ok()) return to_grpc(cursor.status());
  PcapngWriter file(&node_->layout(), node_->name());
  v1::PcapngPiece piece;
  const auto send = [&] {
    piece.set_bytes(file.take());
    const bool was_taken = stream->write(piece);
    piece.Clear();
    return was_taken;
  };
  for_each_row(&*cursor, request.limit(), *stream, [&](const uint8_t* row) {
    file.add(row);
    piece.set_packets(piece.packets() + 1);
    return file.pending_bytes() < kPieceBytes || send();
  });
  if (stream->is_cancelled()) return grpc::Status::CANCELLED;
  piece.set_bytes(file.take());
  stream->write_last(std::move(piece));
  return grpc::Status::OK;
}

grpc::Status NodeService::aggregate(const v1::AggregateRequest& request, v1::AggregateReply* reply) {
  const Schema& schema = node_->layout().schema();
  MultiLog& log = node_->log();
  auto snapshot = snapshot_for(request.query());
  if (!snapshot.ok()) return to_grpc(snapshot.status());
  const QuerySpec spec = spec_of(request.query());
  if (request.stored().empty()) {
    const FunctionSpec function = spec_of(request.function());
    auto value = log.aggregate(spec, function, std::move(*snapshot), request.with_states());
    if (!value.ok()) return to_grpc(value.status());
    fill(*value, schema, function.group_by, reply);
    if (reply->ByteSizeLong() <= kMaxReplyBytes) return grpc::Status::OK;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the response is larger than 4 MB: request fewer groups"};
  }
  auto value = log.read_aggregate(request.stored(), *snapshot, spec.time_low, spec.time_high);
  if (!value.ok()) return to_grpc(value.status());
  std::vector<std::string> group_by;
  {
    const std::lock_guard lock(mutex_);
    for (const v1::Definition& definition : definitions_) {
      if (!definition.has_aggregate() || definition.aggregate().name() != request.stored()) continue;
      const auto& names = definition.aggregate().function().group_by();
      group_by.assign(names.begin(), names.end());
    }
  }
  fill(*value, schema, group_by, reply);
  return grpc::Status::OK;
}

grpc::Status NodeService::explain(const v1::QueryRequest& request, v1::ExplainReply* reply) {
  auto text = node_->log().explain(spec_of(request));
  if (!text.ok()) return to_grpc(text.status());
  reply->set_text(*text);
  return grpc::Status::OK;
}

}  // namespace tapline::multilog
