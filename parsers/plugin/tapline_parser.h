/* Tapline's interface for parsers outside its tree: plain C11 or C++, this one file, nothing to link.
 *
 * A plug-in is a shared object that exports one function:
 *
 *     const tapline_plugin* tapline_plugin_entry(void);
 *
 * What it returns, and all that this points to, is constant and lives as long as the object is loaded. Build with
 * `cc -shared -fPIC -fvisibility=hidden` and mark the entry TAPLINE_EXPORT; `tapline-monitor --plugin FILE` loads it.
 *
 * Versions. TAPLINE_PARSER_ABI changes when something here changes its meaning; a plug-in made for another number is
 * refused. Structures only grow at their end: each side fills in how large the other may take its own to be
 * (`struct_bytes`, `field_bytes`), and structures that Tapline hands over may be larger than a plug-in knows.
 *
 * Instances and threads. Each lane (polling thread) has an instance of its own from create(); an instance is called by
 * one thread at a time, and different instances run at the same time.
 *
 * Lifetimes. What a callback is given (`out`, packets, bytes, connections, segments) is good until the callback
 * returns, but for a connection's `state`: those bytes are the parser's own from the connection's first packet until
 * on_release(), zero at first, aligned to 8. What a plug-in hands over (values and their texts, headers) is copied
 * before the function that takes it returns. A header may be kept until the end of the interval in which it was made.
 *
 * Blame. A callback that crashes, or does not return within the watchdog's time, costs the monitor a restart; the
 * second time the plug-in is left out. Exceptions must not leave a callback.
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
  TAPLINE_ABSENT /* of a value alone: the parser could not see it. Only for fields that are optional */
} tapline_type;

typedef struct tapline_value {
  uint32_t type;       /* tapline_type */
  uint32_t text_bytes; /* of a string */
  union {
    uint64_t u64; /* and 0 or 1 for TAPLINE_BOOL */
    int64_t i64;
    double f64;
    const char* text; /* any bytes, no end mark needed; may be null if text_bytes is 0 */
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

/* No value: aggregates leave it out, comparisons with it are false. Zero is for a measured zero. */
static inline tapline_value tapline_absent(void) {
  tapline_value value;
  value.type = TAPLINE_ABSENT;
  value.text_bytes = 0;
  value.as.u64 = 0;
  return value;
}

/* ---- What parsers see ---------------------------------------------------------------------------------------- */

enum { TAPLINE_CLIENT_BY_HANDSHAKE, TAPLINE_CLIENT_BY_QUERY, TAPLINE_CLIENT_BY_PROTOCOL, TAPLINE_CLIENT_BY_PORT };
enum { TAPLINE_FROM_CLIENT, TAPLINE_FROM_SERVER };
/* Bits of tapline_packet.tcp_events: what became of the connection with this packet. */
enum { TAPLINE_TCP_SYN = 1, TAPLINE_TCP_ESTABLISHED = 2, TAPLINE_TCP_CLOSED = 4, TAPLINE_TCP_RESET = 8 };

/* A TCP connection. Its endpoints are 0 and 1; which of them is the client may become known later. */
typedef struct tapline_connection {
  uint64_t flow_hash;
  uint8_t ip[2][16];    /* network order; IPv4 as IPv4-mapped (::ffff:a.b.c.d) */
  uint16_t port[2];     /* host order, as all numbers here */
  uint32_t incarnation; /* the client's initial sequence number; 0: not seen */
  uint8_t client_side;  /* 0 or 1 */
  uint8_t client_known_by;
  uint8_t reserved[6];
  void* state; /* the parser's own connection_state_bytes; null if it asked for none */
} tapline_connection;

typedef struct tapline_packet {
  const uint8_t* data; /* the captured frame */
  uint32_t captured_bytes;
  uint32_t wire_bytes;
  int64_t time_ns; /* since the epoch; may go back from one packet to the next, now_ns() does not */
  uint64_t flow_hash;
  uint8_t src_ip[16]; /* as in tapline_connection */
  uint8_t dst_ip[16];
  uint16_t src_port; /* 0 without ports */
  uint16_t dst_port;
  uint8_t ip_version; /* 4 or 6 */
  uint8_t protocol;   /* 6 TCP, 17 UDP, … */
  uint8_t tcp_flags;
  uint8_t tcp_events;
  uint32_t tcp_seq;
  uint32_t tcp_ack;
  uint16_t tcp_window;
  uint8_t vlan_tags;   /* how many */
  uint8_t direction;   /* while connection is set */
  uint16_t vlan[2];    /* the first two, outermost first */
  uint32_t network_id; /* of a tunnel; 0: none */
  uint32_t ip_offset;  /* into data */
  uint32_t transport_offset;
  uint32_t payload_offset;
  uint32_t payload_captured_bytes; /* readable at data + payload_offset */
  uint32_t payload_bytes;          /* by the IP header: more than was captured under a snaplen */
  uint8_t tap;                     /* number of the tap that shows it, from 0 */
  uint8_t repeated_view;           /* 1: another tap has shown it before */
  uint16_t reserved;
  tapline_connection* connection; /* null without TAPLINE_NEEDS_CONNECTIONS, and for what is not TCP */
} tapline_packet;

/* Where a piece of a stream came from. */
typedef struct tapline_segment {
  int64_t time_ns;
  uint64_t offset;      /* of its first byte in this side's stream */
  uint64_t peer_offset; /* how much of the other side's stream it acknowledges */
  uint32_t peer_offset_known;
  uint32_t reserved;
} tapline_segment;

/* The common columns of a tuple: source is the client. Made by the functions below; `queries` is not the parser's to
 * change. */
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

/* ---- What parsers call --------------------------------------------------------------------------------------- */

typedef struct tapline_out tapline_out;

typedef enum tapline_loss {
  TAPLINE_LOST_HEAD_TOO_LONG,    /* flows: a message head beyond the parser's bound */
  TAPLINE_LOST_TOO_MANY_PENDING, /* flows: more open transactions in one than are kept */
  TAPLINE_LOST_MEMORY_FULL       /* flows: the parser's own memory is full */
} tapline_loss;

/* All of them take the `out` of the callback under way, and do nothing with another one. Those that emit return 1, or
 * 0 for a tuple that is not as the schema says (number and types of values, texts that are null): it is not emitted and
 * counted as invalid_tuple. */
typedef struct tapline_host {
  uint32_t abi;          /* TAPLINE_PARSER_ABI */
  uint32_t struct_bytes; /* sizeof(tapline_host) as Tapline knows it */
  /* Packet time so far: what the tuple's time_ns will be. */
  int64_t (*now_ns)(tapline_out* out);
  /* A tuple that this packet made certain; packet is one that process() was given just now. */
  int (*emit_packet)(tapline_out* out, const tapline_packet* packet, const tapline_value* values, uint32_t count);
  /* A tuple of a connection that the callback was given. */
  int (*emit_connection)(tapline_out* out, const tapline_connection* connection, const tapline_value* values,
                         uint32_t count);
  /* For tuples that are emitted later, for example of an interval. Return 0 if the packet or connection is not one that
   * the callback was given. */
  int (*header_of_packet)(tapline_out* out, const tapline_packet* packet, tapline_header* header);
  int (*header_of_connection)(tapline_out* out, const tapline_connection* connection, tapline_header* header);
  int (*emit)(tapline_out* out, const tapline_header* header, const tapline_value* values, uint32_t count);
  /* Counts something that was given up, against the queries of a connection that the callback was given. */
  void (*lose)(tapline_out* out, const tapline_connection* connection, tapline_loss reason, uint64_t count);
  /* The payload shows that `side` is the client: takes effect only over a guess by port. */
  void (*claim_client)(tapline_out* out, tapline_connection* connection, uint32_t side);
} tapline_host;

/* ---- What parsers are ---------------------------------------------------------------------------------------- */

/* Names are lower case letters, digits and '_', at most 63, a letter first. Other texts are printable ASCII. */
typedef struct tapline_field {
  const char* name;
  const char* unit;        /* "ns", "bytes", "packets"; null: none */
  const char* description; /* null: none */
  uint32_t type;           /* tapline_type */
  uint32_t additive;       /* 1: sums mean something */
  uint32_t optional;       /* 1: a tuple may have TAPLINE_ABSENT here */
  uint32_t reserved;
} tapline_field;

typedef enum tapline_layer { TAPLINE_NETWORK, TAPLINE_TRANSPORT, TAPLINE_APPLICATION } tapline_layer;

/* What is not asked for is not done. */
enum {
  TAPLINE_NEEDS_PACKETS = 1,     /* process() is called */
  TAPLINE_NEEDS_CONNECTIONS = 2, /* packets come with their connection; on_end() and on_release() are called */
  TAPLINE_NEEDS_STREAMS = 4,     /* on_data(), on_gap(), on_stream_end() are called (implies connections) */
  TAPLINE_NEEDS_INTERVALS = 8,   /* on_interval() is called at the end of each interval of packet time */
  /* Where several taps show a packet, process() gets each view, in the order of time; those after the first have no
   * connection. Else it gets the first one only. */
  TAPLINE_NEEDS_ALL_VIEWS = 16
};

enum { TAPLINE_CONTINUE, TAPLINE_GIVE_UP };                              /* of on_data() and on_gap() */
enum { TAPLINE_END_BY_FIN, TAPLINE_END_BY_RESET, TAPLINE_END_GIVEN_UP }; /* of on_stream_end() */

typedef struct tapline_parser {
  uint32_t struct_bytes; /* sizeof(tapline_parser) */
  uint32_t field_bytes;  /* sizeof(tapline_field) */
  const char* name;      /* that of no other parser */
  const char* description;
  uint32_t layer; /* tapline_layer */
  uint32_t needs;
  uint32_t connection_state_bytes; /* at most 4096 */
  uint32_t field_count;            /* 1 to 64 */
  const tapline_field* fields;     /* its own: time, addresses and ports are added to each tuple */
  const char* const* main_fields;  /* what top-k ranks, own or common ones */
  uint32_t main_field_count;
  uint32_t interval_us;       /* length of an interval, 100 or more; 0: a second */
  const char* value_field;    /* a numeric field, the default of by=; null: none */
  const char* duration_field; /* a numeric field in ns, what diff takes; null: none */

  /* An instance, null if there can be none. `host` lives as long as the plug-in is loaded. */
  void* (*create)(const tapline_host* host);
  void (*destroy)(void* self);

  /* Those that it does not need may be null, and so may on_end and on_release. */
  void (*process)(void* self, const tapline_packet* const* packets, uint32_t count, tapline_out* out);
  /* The bytes of each direction in order and once, cut anywhere. */
  int (*on_data)(void* self, tapline_connection* connection, uint32_t side, const uint8_t* bytes, uint64_t count,
                 const tapline_segment* segment, tapline_out* out);
  /* `bytes` that were never captured lie between what came before and what comes next. */
  int (*on_gap)(void* self, tapline_connection* connection, uint32_t side, uint64_t bytes,
                const tapline_segment* segment, tapline_out* out);
  /* This side sends no more. */
  void (*on_stream_end)(void* self, tapline_connection* connection, uint32_t side, uint32_t end, int64_t time_ns,
                        tapline_out* out);
  /* An interval of packet time is over: end_ns is the first nanosecond of the next, a multiple of its length. */
  void (*on_interval)(void* self, int64_t end_ns, tapline_out* out);
  /* Some queries see no more of the connection: what is emitted here goes to just these. Others may go on: leave the
   * state as it is. */
  void (*on_end)(void* self, tapline_connection* connection, tapline_out* out);
  /* The connection is forgotten: free what its state holds. */
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
