package io.tapline.control.query.events;

import io.tapline.schema.rpc.EventBatch;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.XAddParams;
import redis.clients.jedis.resps.StreamEntry;

/**
 * Queries' event logs in Redis, under the keys of schema/redis.md. Thread-safe. Every call may
 * throw a {@link redis.clients.jedis.exceptions.JedisException} if Redis can't be reached.
 */
public final class EventStore {
  /** Maximum number of entries that a call returns. */
  public static final int PAGE = 64;

  private final JedisPool pool;

  /** Creates a store that uses the connections of a pool that the caller owns. */
  public EventStore(JedisPool pool) {
    this.pool = pool;
  }

  /** Returns the key of a query's log. */
  public static String key(String query) {
    return "tapline:query:" + query + ":event-log";
  }

  /**
   * An entry to be written.
   *
   * @param batch the batch that it was made from
   * @param oldest number of the oldest entry to keep
   */
  record Write(EventBatch batch, EventNumbers.CutBatch cut, EventEntry entry, long oldest) {
    private boolean isAs(Map<String, String> written) {
      return written.get("monitor").equals(batch.getMonitor())
          && written.get("incarnation").equals(Long.toUnsignedString(batch.getIncarnation()))
          && written.get("next").equals("" + (batch.getFirst() + batch.getCount()));
    }

    private Map<byte[], byte[]> fields() {
      Map<byte[], byte[]> fields = new HashMap<>();
      put(fields, "monitor", batch.getMonitor());
      put(fields, "incarnation", Long.toUnsignedString(batch.getIncarnation()));
      put(fields, "next", "" + (batch.getFirst() + batch.getCount()));
      put(fields, "last", batch.getLast() ? "1" : "0");
      put(fields, "received", "" + cut.received());
      put(fields, "missing", "" + cut.missing());
      put(fields, "interrupted", "" + cut.interrupted());
      fields.put(bytes("data"), entry.json());
      return fields;
    }
  }

  private static void put(Map<byte[], byte[]> fields, String name, String value) {
    fields.put(bytes(name), bytes(value));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Writes entries in one round trip. Redis rejects an entry whose number is not above that of the
   * log's last entry, which prevents two control planes from both writing a log. It ignores a
   * rehearsal's entries, whose log does not exist.
   */
  void append(List<Write> writes) {
    try (Jedis redis = pool.getResource();
        Pipeline pipeline = redis.pipelined()) {
      List<Response<byte[]>> responses = new ArrayList<>();
      for (Write write : writes) {
        XAddParams number =
            new XAddParams()
                .id(new StreamEntryID(write.entry().number(), 0))
                .minId(write.oldest() + "-0")
                .approximateTrimming();
        if (write.batch().getQuery().equals(EventRehearsal.QUERY)) {
          number.noMkStream();
        }
        responses.add(pipeline.xadd(bytes(key(write.batch().getQuery())), number, write.fields()));
      }
      pipeline.sync();
      responses.forEach(Response::get);
    }
  }

  /**
   * Returns true if the log has the entry: a connection may have broken after the write.
   *
   * @throws IllegalStateException if the log has another entry in its place, written by another
   *     control plane
   */
  boolean has(Write write) {
    String id = write.entry().number() + "-0";
    try (Jedis redis = pool.getResource()) {
      List<StreamEntry> entries = redis.xrange(key(write.batch().getQuery()), id, id);
      if (entries.isEmpty()) {
        return false;
      }
      if (!write.isAs(entries.get(0).getFields())) {
        throw new IllegalStateException(
            "another control plane is logging the events of " + write.batch().getQuery());
      }
      return true;
    }
  }

  /** Returns at most a page of entries after a number, oldest first. */
  public List<EventEntry> after(String query, long number) {
    try (Jedis redis = pool.getResource()) {
      return redis.xrange(key(query), "(" + number + "-0", "+", PAGE).stream()
          .map(EventStore::entry)
          .toList();
    }
  }

  private static EventEntry entry(StreamEntry entry) {
    return new EventEntry(entry.getID().getTime(), bytes(entry.getFields().get("data")));
  }

  /** An entry, and all fields that Redis stores for it, for {@link EventLog#restore}. */
  record StoredEntry(EventEntry entry, Map<String, String> fields) {}

  /** Returns the same entries as {@link #after}, with all their fields. */
  List<StoredEntry> writtenAfter(String query, long number) {
    try (Jedis redis = pool.getResource()) {
      return redis.xrange(key(query), "(" + number + "-0", "+", PAGE).stream()
          .map(entry -> new StoredEntry(entry(entry), entry.getFields()))
          .toList();
    }
  }
}
