/* Tapline's interface for parsers outside its tree: plain C11 or C++, this one file, nothing to link.
 *
 * A plug-in is a shared object that exports one function:
 *
 *     const tapline_plugin* tapline_plugin_entry(void);
 *
 * The structure that it returns, and all memory reachable from it, is constant and lives as long as the object is
 * loaded. Build with `cc -shared -fPIC -fvisibility=hidden` and mark the entry TAPLINE_EXPORT;
 * `tapline-monitor --plugin FILE` loads it.
 *
 * Versions. TAPLINE_PARSER_ABI changes when the meaning of a declaration here changes; a plug-in built for another
 * version is rejected. Structures only grow at their end: each side declares the size of its structures
 * (`struct_bytes`, `field_bytes`), and structures that Tapline passes may be larger than those that a plug-in knows.
 *
 * Instances and threads. Each lane (polling thread) has a separate instance from create(). An instance is called by one
 * thread at a time; different instances run concurrently.
 *
 * Lifetimes. The arguments of a callback (`out`, packets, bytes, connections, segments) are valid until it returns,
 * except for a connection's `state`: those bytes belong to the parser from the connection's first packet until
 * on_release(); they are initially zero and aligned to 8 bytes. Tapline copies the values, strings and headers that a
 * plug-in passes to a function before that function returns. A header may be kept until the end of the interval in
 * which it was made.
 *
 * Faults. If a callback crashes, or does not return within the watchdog's timeout, the monitor restarts; the second
 * time, it disables the plug-in. Exceptions must not leave a callback.
 */
#ifndef TAPLINE_PARSER_H_
#define TAPLINE_PARSER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAPLINE_PARSER_ABI 1u
#define TAPLINE_EXPORT __attribute__((visibility("default")))

/* ---- Values -------------------------------------------------------------------------------------------------- */

typedef enum tapline_type {
  TAPLINE_U64,
  TAPLINE_I64,
  TAPLINE_F64,
  TAPLINE_BOOL,
  TAPLINE_STRING,
  TAPLINE_ABSENT /* only in optional fields: the parser could not determine the value */
} tapline_type;

typedef struct tapline_value {
  uint32_t type;       /* tapline_type */
  uint32_t text_bytes; /* length of a string */
  union {
    uint64_t u64; /* also TAPLINE_BOOL, as 0 or 1 */
    int64_t i64;
    double f64;
    const char* text; /* any bytes, not NUL-terminated; may be null if text_bytes is 0 */
  } as;
} tapline_value;

static inline tapline_value tapline_u64(uint64_t number) {
  tapline_value value;
  value.type = TAPLINE_U64;
  value.text_bytes = 0;
  value.as.u64 = number;
  return value;
}
static inline tapline_value tapline_i64(int64_t number) {
  tapline_value value;
  value.type = TAPLINE_I64;
  value.text_bytes = 0;
  value.as.i64 = number;
  return value;
}
static inline tapline_value tapline_f64(double number) {
  tapline_value value;
  value.type = TAPLINE_F64;
  value.text_bytes = 0;
  value.as.f64 = number;
  return value;
}
static inline tapline_value tapline_bool(int truth) {
  tapline_value value;
  value.type = TAPLINE_BOOL;
  value.text_bytes = 0;
  value.as.u64 = truth != 0;
  return value;
}
static inline tapline_value tapline_string(const char* text, uint32_t bytes) {
  tapline_value value;
  value.type = TAPLINE_STRING;
  value.text_bytes = bytes;
  value.as.text = text;
  return value;
}

/* Returns an absent value: aggregates ignore it, and comparisons with it are false. Zero means a measured zero. */
static inline tapline_value tapline_absent(void) {
  tapline_value value;
  value.type = TAPLINE_ABSENT;
  value.text_bytes = 0;
  value.as.u64 = 0;
  return value;
}

/* ---- Input of parsers ---------------------------------------------------------------------------------------- */

enum { TAPLINE_CLIENT_BY_HANDSHAKE, TAPLINE_CLIENT_BY_QUERY, TAPLINE_CLIENT_BY_PROTOCOL, TAPLINE_CLIENT_BY_PORT };
enum { TAPLINE_FROM_CLIENT, TAPLINE_FROM_SERVER };
/* Bits of tapline_packet.tcp_events: the packet's effect on its connection. */
enum { TAPLINE_TCP_SYN = 1, TAPLINE_TCP_ESTABLISHED = 2, TAPLINE_TCP_CLOSED = 4, TAPLINE_TCP_RESET = 8 };

/* A TCP connection. Its endpoints are 0 and 1; which of them is the client may become known later. */
typedef struct tapline_connection {
  uint64_t flow_hash;
  uint8_t ip[2][16];    /* network order; IPv4 as IPv4-mapped (::ffff:a.b.c.d) */
  uint16_t port[2];     /* host order, like all numbers here */
  uint32_t incarnation; /* the client's initial sequence number; 0: not seen */
  uint8_t client_side;  /* 0 or 1 */
  uint8_t client_known_by;
  uint8_t reserved[6];
  void* state; /* the parser's connection_state_bytes; null if it requested none */
} tapline_connection;

typedef struct tapline_packet {
  const uint8_t* data; /* the captured frame */
  uint32_t captured_bytes;
  uint32_t wire_bytes;
  int64_t time_ns; /* since the epoch; may run backwards between packets, unlike now_ns() */
  uint64_t flow_hash;
  uint8_t src_ip[16]; /* as in tapline_connection */
  uint8_t dst_ip[16];
  uint16_t src_port; /* 0 if the protocol has no ports */
  uint16_t dst_port;
  uint8_t ip_version; /* 4 or 6 */
  uint8_t protocol;   /* 6 TCP, 17 UDP, … */
  uint8_t tcp_flags;
  uint8_t tcp_events;
  uint32_t tcp_seq;
  uint32_t tcp_ack;
  uint16_t tcp_window;
  uint8_t vlan_tags;   /* number of tags */
  uint8_t direction;   /* valid if connection is set */
  uint16_t vlan[2];    /* the first two, outermost first */
  uint32_t network_id; /* VNI of the tunnel; 0: none */
  uint32_t ip_offset;  /* offset in data */
  uint32_t transport_offset;
  uint32_t payload_offset;
  uint32_t payload_captured_bytes; /* readable at data + payload_offset */
  uint32_t payload_bytes;          /* according to the IP header: exceeds the captured bytes of a cut packet */
  uint8_t tap;                     /* number of its tap, from 0 */
  uint8_t repeated_view;           /* 1: another tap has already shown the packet */
  uint16_t reserved;
  tapline_connection* connection; /* null if TAPLINE_NEEDS_CONNECTIONS is not set, and for packets other than TCP */
} tapline_packet;

/* The packet that contained a piece of a stream, and the piece's position in the stream. */
typedef struct tapline_segment {
  int64_t time_ns;
  uint64_t offset;      /* position of the piece's first byte in this side's stream */
  uint64_t peer_offset; /* bytes of the other side's stream that the packet acknowledges */
  uint32_t peer_offset_known;
  uint32_t reserved;
} tapline_segment;

/* The common columns of a tuple. The source is the client. The functions below fill them in; the parser must not change
 * `queries`. */
typedef struct tapline_header {
  uint64_t queries;
  uint64_t flow_hash;
  uint32_t flow_incarnation;
  uint16_t src_port;
  uint16_t dst_port;
  uint8_t src_ip[16];
  uint8_t dst_ip[16];
  uint8_t client_known_by;
  uint8_t reserved[7];
} tapline_header;

/* ---- Functions for parsers ----------------------------------------------------------------------------------- */

typedef struct tapline_out tapline_out;

/* Reasons for losses, which are counted in flows. */
typedef enum tapline_loss {
  TAPLINE_LOST_HEAD_TOO_LONG,    /* a message head exceeds the parser's bound */
  TAPLINE_LOST_TOO_MANY_PENDING, /* too many open transactions in one flow */
  TAPLINE_LOST_MEMORY_FULL       /* the parser's own memory is full */
} tapline_loss;

/* All functions take the `out` of the current callback, and ignore calls with another one. Those that emit return 1,
 * or 0 for a tuple that violates the schema (number and types of values, null strings): it is not emitted, but counted
 * as invalid_tuple. */
typedef struct tapline_host {
  uint32_t abi;          /* TAPLINE_PARSER_ABI */
  uint32_t struct_bytes; /* sizeof(tapline_host) as Tapline knows it */
  /* Returns the latest packet time, which becomes the tuple's time_ns. */
  int64_t (*now_ns)(tapline_out* out);
  /* Emits a tuple that this packet completes. `packet` must be an argument of the current process() call. */
  int (*emit_packet)(tapline_out* out, const tapline_packet* packet, const tapline_value* values, uint32_t count);
  /* Emits a tuple for a connection that is an argument of the current callback. */
  int (*emit_connection)(tapline_out* out, const tapline_connection* connection, const tapline_value* values,
                         uint32_t count);
  /* Make the header of a tuple that is emitted later, for example per interval. Return 0 unless the packet or
   * connection is an argument of the current callback. */
  int (*header_of_packet)(tapline_out* out, const tapline_packet* packet, tapline_header* header);
  int (*header_of_connection)(tapline_out* out, const tapline_connection* connection, tapline_header* header);
  int (*emit)(tapline_out* out, const tapline_header* header, const tapline_value* values, uint32_t count);
  /* Counts a loss, for the queries of a connection that is an argument of the current callback. */
  void (*lose)(tapline_out* out, const tapline_connection* connection, tapline_loss reason, uint64_t count);
  /* Declares that the payload shows that `side` is the client. Overrides only a guess by port. */
  void (*claim_client)(tapline_out* out, tapline_connection* connection, uint32_t side);
} tapline_host;

/* ---- Description of parsers ---------------------------------------------------------------------------------- */

/* Names consist of at most 63 lower-case letters, digits and '_', and begin with a letter. Other strings are printable
 * ASCII. */
typedef struct tapline_field {
  const char* name;
  const char* unit;        /* "ns", "bytes", "packets"; null: none */
  const char* description; /* null: none */
  uint32_t type;           /* tapline_type */
  uint32_t additive;       /* 1: sums are meaningful */
  uint32_t optional;       /* 1: a tuple may have TAPLINE_ABSENT here */
  uint32_t reserved;
} tapline_field;

typedef enum tapline_layer { TAPLINE_NETWORK, TAPLINE_TRANSPORT, TAPLINE_APPLICATION } tapline_layer;

/* Bits of tapline_parser.needs. Tapline only does the work that some parser needs. */
enum {
  TAPLINE_NEEDS_PACKETS = 1,     /* process() is called */
  TAPLINE_NEEDS_CONNECTIONS = 2, /* packets come with their connection; on_end() and on_release() are called */
  TAPLINE_NEEDS_STREAMS = 4,     /* on_data(), on_gap(), on_stream_end() are called (implies connections) */
  TAPLINE_NEEDS_INTERVALS = 8,   /* on_interval() is called at the end of each interval of packet time */
  /* If several taps show a packet, process() receives each view, in time order; views after the first have no
   * connection. Without this bit, it receives only the first view. */
  TAPLINE_NEEDS_ALL_VIEWS = 16
};

enum { TAPLINE_CONTINUE, TAPLINE_GIVE_UP };                              /* results of on_data() and on_gap() */
enum { TAPLINE_END_BY_FIN, TAPLINE_END_BY_RESET, TAPLINE_END_GIVEN_UP }; /* the `end` of on_stream_end() */

typedef struct tapline_parser {
  uint32_t struct_bytes; /* sizeof(tapline_parser) */
  uint32_t field_bytes;  /* sizeof(tapline_field) */
  const char* name;      /* unique among all parsers */
  const char* description;
  uint32_t layer; /* tapline_layer */
  uint32_t needs;
  uint32_t connection_state_bytes; /* at most 4096 */
  uint32_t field_count;            /* 1 to 64 */
  const tapline_field* fields;     /* without the common ones: time, addresses and ports are added to each tuple */
  const char* const* main_fields;  /* fields that top-k ranks by default: the parser's or common ones */
  uint32_t main_field_count;
  uint32_t interval_us;       /* length of an interval, 100 or more; 0: a second */
  const char* value_field;    /* a numeric field, the default of by=; null: none */
  const char* duration_field; /* a numeric field in ns, for diff; null: none */

  /* Returns an instance, or null on failure. `host` lives as long as the plug-in is loaded. */
  void* (*create)(const tapline_host* host);
  void (*destroy)(void* self);

  /* Callbacks that the parser does not need may be null; on_end and on_release always may. */
  void (*process)(void* self, const tapline_packet* const* packets, uint32_t count, tapline_out* out);
  /* Receives the bytes of each direction, in order and once each, split anywhere. */
  int (*on_data)(void* self, tapline_connection* connection, uint32_t side, const uint8_t* bytes, uint64_t count,
                 const tapline_segment* segment, tapline_out* out);
  /* Called when `bytes` bytes between the previous data and the next were never captured. */
  int (*on_gap)(void* self, tapline_connection* connection, uint32_t side, uint64_t bytes,
                const tapline_segment* segment, tapline_out* out);
  /* Called when this side's stream ends. */
  void (*on_stream_end)(void* self, tapline_connection* connection, uint32_t side, uint32_t end, int64_t time_ns,
                        tapline_out* out);
  /* Called at the end of each interval of packet time. end_ns, a multiple of the interval's length, is the first
   * nanosecond of the next interval. */
  void (*on_interval)(void* self, int64_t end_ns, tapline_out* out);
  /* Called when some queries will see no more of the connection. Tuples emitted here go only to these queries. Others
   * may continue, so leave the state unchanged. */
  void (*on_end)(void* self, tapline_connection* connection, tapline_out* out);
  /* Called when the connection's entry is about to be reused: free the memory that its state owns. */
  void (*on_release)(void* self, tapline_connection* connection);
} tapline_parser;

typedef struct tapline_plugin {
  uint32_t abi;          /* TAPLINE_PARSER_ABI */
  uint32_t struct_bytes; /* sizeof(tapline_plugin) */
  const tapline_parser* const* parsers;
  uint32_t parser_count; /* 1 to 16 */
  uint32_t reserved;
} tapline_plugin;

TAPLINE_EXPORT const tapline_plugin* tapline_plugin_entry(void);

#ifdef __cplusplus
}
#endif

#endif /* TAPLINE_PARSER_H_ */
