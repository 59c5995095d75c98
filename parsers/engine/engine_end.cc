#include <cstring>
#include <utility>

#include "parsers/engine/engine_impl.h"

namespace tapline {

void Engine::Impl::begin_end(uint64_t queries) {
  if (ending_ == 0) ending_clock_ns_ = clock_ns_;
  for (LoadedParser& loaded : loaded_) {
    if ((loaded.emitter.queries_ & queries) != 0) loaded.parser->on_queries_end(queries, loaded.emitter);
  }
  ending_ |= queries;
  cursor_ = 1;
  choose_active();
}

bool Engine::Impl::continue_end(uint32_t connections) {
  if (ending_ == 0) return true;
  if (table_) {
    cursor_ = table_->for_each_from(cursor_, connections, [this](Connection& connection) { settle(connection); });
    if (cursor_ != 0) return false;
  }
  ending_ = 0;
  choose_active();
  return true;
}

void Engine::Impl::end_queries(uint64_t queries) {
  begin_end(queries);
  continue_end(UINT32_MAX);
}

bool Engine::Impl::settle(Connection& connection) {
  const uint64_t ending = connection.queries & ending_;
  const int64_t clock_ns = std::exchange(clock_ns_, ending_clock_ns_);
  const bool others = ending != connection.queries;
  if (!others) {
    settling_ = true;
    retire_now(connection);
    settling_ = false;
  } else if (ending != 0) {
    for (LoadedParser& loaded : loaded_) {
      if (loaded.follows(connection.is_tcp())) end_for(loaded, connection, ending);
    }
    forget(connection, ending);
    if (connection.stream != 0 && !wanted(connection)) reassembler_->abandon(connection);
  }
  clock_ns_ = clock_ns;
  return others;
}

void Engine::Impl::end_for(LoadedParser& loaded, Connection& connection, uint64_t ending) {
  loaded.parser->on_end(connection, ending, loaded.emitter);
  if ((loaded.emitter.queries_ & ~ending_) == 0) clear_state(loaded, connection);
}

void Engine::Impl::clear_state(LoadedParser& loaded, Connection& connection) {
  loaded.parser->on_release(connection);
  std::memset(connection.parser_state() + loaded.parser->state_offset_, 0, loaded.needs.connection_state_bytes);
  connection.ignored_by &= static_cast<uint16_t>(~loaded.ignore_bit);
}

void Engine::Impl::forget_streams(Connection& connection) {
  for (LoadedParser& loaded : loaded_) {
    if (loaded.stream_parser != nullptr) clear_state(loaded, connection);
  }
}

void Engine::Impl::retire(Connection& connection) {
  if (ending_ != 0 && !settle(connection)) return;
  retire_now(connection);
}

void Engine::Impl::retire_now(Connection& connection) {
  if (reassembler_) reassembler_->finish(connection, StreamEnd::kGivenUp, connection.last_seen_ns);
  for (LoadedParser& loaded : loaded_) {
    if (!loaded.follows(connection.is_tcp())) continue;
    loaded.parser->on_end(connection, connection.queries, loaded.emitter);
    loaded.parser->on_release(connection);
  }
  forget(connection, connection.queries);
  table_->erase(connection);
}

}  // namespace tapline
