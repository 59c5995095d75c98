package io.tapline.control.query.events;

import com.google.protobuf.ByteString;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import io.tapline.schema.rpc.EventValue;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Events of a query that does not exist. Redis ignores them, so they leave no trace. A server that
 * has processed some does not delay its first real events by loading and interpreting classes,
 * which takes 40 to 200 ms on a busy machine.
 */
final class EventRehearsal {
  /** The ID of the query. */
  static final String QUERY = "";

  /** More calls than Java interprets before it compiles a method. */
  static final int BATCHES = 256;

  private static final ByteString ADDRESS = ByteString.copyFrom(new byte[] {127, 0, 0, 1});
  private static final Logger LOG = LoggerFactory.getLogger(EventRehearsal.class);

  private EventRehearsal() {}

  /** Returns true if Redis is available; otherwise reports that in the server's log. */
  static boolean isPossible(EventStore store) {
    try {
      new EventLog(QUERY, false).take(batch(0)).ifPresent(write -> store.append(List.of(write)));
      return true;
    } catch (JedisException e) {
      LOG.debug("can't prepare for events: Redis: {}", e.getMessage());
      return false;
    }
  }

  /** Returns a batch with one event. */
  static EventBatch batch(int number) {
    EventList list =
        EventList.newBuilder()
            .addSchemas(
                EventSchema.newBuilder()
                    .setParser("none")
                    .addAllFields(List.of("text", "number", "ratio", "absent")))
            .addEvents(
                Event.newBuilder()
                    .setSrcIp(ADDRESS)
                    .setDstIp(ADDRESS)
                    .addValues(EventValue.newBuilder().setText("none"))
                    .addValues(EventValue.newBuilder().setNumber(1))
                    .addValues(EventValue.newBuilder().setReal(0.5))
                    .addValues(EventValue.newBuilder()))
            .build();
    return EventBatch.newBuilder()
        .setQuery(QUERY)
        .setMonitor("none")
        .setIncarnation(1)
        .setFirst(number + 1)
        .setCount(list.getEventsCount())
        .setEvents(list.toByteString())
        .build();
  }
}
