/* A plug-in for tests: `marker` looks at packets, `marker_lines` at streams, `marker_views` at the taps of packets.
 * What a payload begins with decides how the first two behave:
 *
 *   CRASH  reads through a null pointer       ABORT  calls abort()        EXIT   ends the process
 *   HANG   never returns                      SLEEP  neither, but waits   WRONG  emits values of wrong number and type
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <tapline/tapline_parser.h>
#include <unistd.h>

#ifndef TAPLINE_TEST_ABI
#define TAPLINE_TEST_ABI TAPLINE_PARSER_ABI
#endif
#ifndef TAPLINE_TEST_NAME
#define TAPLINE_TEST_NAME "marker"
#endif

struct instance {
  const tapline_host* host;
  uint64_t packets;
  tapline_header last;
};

static volatile int* volatile nothing = NULL;

static int begins(const uint8_t* bytes, uint64_t count, const char* word) {
  return count >= strlen(word) && memcmp(bytes, word, strlen(word)) == 0;
}

static void misbehave(const uint8_t* bytes, uint64_t count) {
  if (begins(bytes, count, "CRASH")) *nothing = 1;
  if (begins(bytes, count, "ABORT")) abort();
  if (begins(bytes, count, "EXIT")) _exit(0);
  while (begins(bytes, count, "HANG")) nothing = NULL;
  while (begins(bytes, count, "SLEEP")) sleep(1);
}

static void* create(const tapline_host* host) {
  struct instance* self = calloc(1, sizeof *self);
  if (self != NULL) self->host = host;
  return self;
}

static void destroy(void* self) { free(self); }

/* ---- marker: a tuple for each packet with payload, one for each second ---- */

static const tapline_field marker_fields[] = {
    {.name = "kind", .description = "packet or second", .type = TAPLINE_STRING},
    {.name = "text", .description = "The payload's first 16 bytes", .type = TAPLINE_STRING, .optional = 1},
    {.name = "bytes", .unit = "bytes", .description = "Payload", .type = TAPLINE_U64, .additive = 1},
};

static void emit_wrong(struct instance* self, const tapline_packet* packet, tapline_out* out) {
  tapline_value values[3] = {tapline_string("a", 1), tapline_u64(1), tapline_u64(2)};
  self->host->emit_packet(out, packet, values, 3);
  self->host->emit_packet(out, packet, values, 1);
  self->host->emit_packet(out, packet, NULL, 3);
  values[1] = tapline_string(NULL, 7);
  self->host->emit_packet(out, packet, values, 3);
  values[1] = tapline_string("b", 1);
  values[2] = tapline_absent(); /* the field is not optional */
  self->host->emit_packet(out, packet, values, 3);
}

static void marker_process(void* instance, const tapline_packet* const* packets, uint32_t count, tapline_out* out) {
  struct instance* self = instance;
  for (uint32_t i = 0; i < count; ++i) {
    const tapline_packet* packet = packets[i];
    const uint8_t* payload = packet->data + packet->payload_offset;
    const uint32_t bytes = packet->payload_captured_bytes;
    if (bytes == 0) continue;
    misbehave(payload, bytes);
    if (begins(payload, bytes, "WRONG")) emit_wrong(self, packet, out);
    const tapline_value values[3] = {tapline_string("packet", 6),
                                     tapline_string((const char*)payload, bytes < 16 ? bytes : 16),
                                     tapline_u64(packet->payload_bytes)};
    self->host->emit_packet(out, packet, values, 3);
    self->host->header_of_packet(out, packet, &self->last);
    ++self->packets;
  }
}

static void marker_interval(void* instance, int64_t end_ns, tapline_out* out) {
  struct instance* self = instance;
  (void)end_ns;
  const tapline_value values[3] = {tapline_string("second", 6), tapline_absent(), tapline_u64(self->packets)};
  if (self->packets > 0) self->host->emit(out, &self->last, values, 3);
  self->packets = 0;
}

static const char* const marker_main[] = {"text"};
static const tapline_parser marker = {
    .struct_bytes = sizeof(tapline_parser),
    .field_bytes = sizeof(tapline_field),
    .name = TAPLINE_TEST_NAME,
    .description = "Payloads, for tests",
    .layer = TAPLINE_APPLICATION,
    .needs = TAPLINE_NEEDS_PACKETS | TAPLINE_NEEDS_INTERVALS,
    .fields = marker_fields,
    .field_count = 3,
    .main_fields = marker_main,
    .main_field_count = 1,
    .value_field = "bytes",
    .create = create,
    .destroy = destroy,
    .process = marker_process,
    .on_interval = marker_interval,
};

/* ---- lines: a tuple for each connection that ends, with its number of lines ---- */

struct lines_state {
  uint64_t lines[2];
  uint64_t missing;
  char* memory; /* one allocation for each connection: a leak shows if on_release() is missed */
};

static const tapline_field lines_fields[] = {
    {.name = "client_lines", .type = TAPLINE_U64, .additive = 1},
    {.name = "server_lines", .type = TAPLINE_U64, .additive = 1},
    {.name = "missing_bytes", .unit = "bytes", .type = TAPLINE_I64, .additive = 1},
    {.name = "share", .description = "Of the client's lines", .type = TAPLINE_F64},
    {.name = "complete", .type = TAPLINE_BOOL},
};

static int lines_data(void* instance, tapline_connection* connection, uint32_t side, const uint8_t* bytes,
                      uint64_t count, const tapline_segment* segment, tapline_out* out) {
  struct instance* self = instance;
  struct lines_state* state = connection->state;
  (void)segment;
  misbehave(bytes, count);
  if (state->memory == NULL) state->memory = malloc(16);
  if (begins(bytes, count, "CLIENT")) self->host->claim_client(out, connection, side);
  if (begins(bytes, count, "ENOUGH")) {
    self->host->lose(out, connection, TAPLINE_LOST_HEAD_TOO_LONG, 1);
    return TAPLINE_GIVE_UP;
  }
  for (uint64_t i = 0; i < count; ++i) state->lines[side] += bytes[i] == '\n';
  return TAPLINE_CONTINUE;
}

static int lines_gap(void* instance, tapline_connection* connection, uint32_t side, uint64_t bytes,
                     const tapline_segment* segment, tapline_out* out) {
  struct lines_state* state = connection->state;
  (void)instance, (void)side, (void)segment, (void)out;
  state->missing += bytes;
  return TAPLINE_CONTINUE;
}

static void lines_stream_end(void* instance, tapline_connection* connection, uint32_t side, uint32_t end,
                             int64_t time_ns, tapline_out* out) {
  (void)instance, (void)connection, (void)side, (void)end, (void)time_ns, (void)out;
}

static void lines_end(void* instance, tapline_connection* connection, tapline_out* out) {
  struct instance* self = instance;
  const struct lines_state* state = connection->state;
  const uint64_t client = state->lines[connection->client_side], server = state->lines[!connection->client_side];
  if (client + server == 0) return;
  const tapline_value values[5] = {tapline_u64(client), tapline_u64(server), tapline_i64((int64_t)state->missing),
                                   tapline_f64((double)client / (double)(client + server)),
                                   tapline_bool(state->missing == 0)};
  self->host->emit_connection(out, connection, values, 5);
}

static void lines_release(void* instance, tapline_connection* connection) {
  struct lines_state* state = connection->state;
  (void)instance;
  free(state->memory);
}

static const char* const lines_main[] = {"dst_ip", "dst_port"};
static const tapline_parser lines = {
    .struct_bytes = sizeof(tapline_parser),
    .field_bytes = sizeof(tapline_field),
    .name = "marker_lines",
    .layer = TAPLINE_APPLICATION,
    .needs = TAPLINE_NEEDS_STREAMS,
    .connection_state_bytes = sizeof(struct lines_state),
    .fields = lines_fields,
    .field_count = 5,
    .main_fields = lines_main,
    .main_field_count = 2,
    .create = create,
    .destroy = destroy,
    .on_data = lines_data,
    .on_gap = lines_gap,
    .on_stream_end = lines_stream_end,
    .on_end = lines_end,
    .on_release = lines_release,
};

/* ---- views: a tuple for each view that a tap has of a packet ---- */

static const tapline_field views_fields[] = {
    {.name = "tap", .type = TAPLINE_U64},
    {.name = "repeated", .type = TAPLINE_BOOL},
    {.name = "seen_ns", .unit = "ns", .type = TAPLINE_I64},
};

static void views_process(void* instance, const tapline_packet* const* packets, uint32_t count, tapline_out* out) {
  struct instance* self = instance;
  for (uint32_t i = 0; i < count; ++i) {
    const tapline_value values[3] = {tapline_u64(packets[i]->tap), tapline_bool(packets[i]->repeated_view),
                                     tapline_i64(packets[i]->time_ns)};
    self->host->emit_packet(out, packets[i], values, 3);
  }
}

static const char* const views_main[] = {"tap"};
static const tapline_parser views = {
    .struct_bytes = sizeof(tapline_parser),
    .field_bytes = sizeof(tapline_field),
    .name = "marker_views",
    .layer = TAPLINE_NETWORK,
    .needs = TAPLINE_NEEDS_PACKETS | TAPLINE_NEEDS_ALL_VIEWS,
    .fields = views_fields,
    .field_count = 3,
    .main_fields = views_main,
    .main_field_count = 1,
    .create = create,
    .destroy = destroy,
    .process = views_process,
};

static const tapline_parser* const parsers[] = {&marker, &lines, &views};
static const tapline_plugin plugin = {TAPLINE_TEST_ABI, sizeof(tapline_plugin), parsers, 3, 0};

#ifndef TAPLINE_TEST_NO_ENTRY
const tapline_plugin* tapline_plugin_entry(void) {
#ifdef TAPLINE_TEST_CRASH_IN_ENTRY
  *nothing = 1;
#endif
  return &plugin;
}
#else
TAPLINE_EXPORT const void* some_function(void) { return &plugin; }
#endif
