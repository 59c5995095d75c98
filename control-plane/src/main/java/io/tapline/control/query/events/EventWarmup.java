package io.tapline.control.query.events;

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
 * Logs an event of a query that does not exist, which leaves no trace. The first real event is then
 * not delayed by class loading and connecting to Redis, which take more than 100 ms.
 */
final class EventWarmup {
  private static final Logger LOG = LoggerFactory.getLogger(EventWarmup.class);

  private EventWarmup() {}

  /**
   * Writes the event to the log. If Redis is not available, reports that in the server's log and
   * continues.
   */
  static void run(EventStore store) {
    EventLog log = new EventLog("", false);
    try {
      log.take(batch()).ifPresent(write -> store.appendToExistingLogs(List.of(write)));
    } catch (JedisException e) {
      LOG.debug("can't prepare for events: Redis: {}", e.getMessage());
    }
  }

  private static EventBatch batch() {
    EventList list =
        EventList.newBuilder()
            .addSchemas(
                EventSchema.newBuilder()
                    .setParser("none")
                    .addAllFields(List.of("text", "number", "ratio", "absent")))
            .addEvents(
                Event.newBuilder()
                    .addValues(EventValue.newBuilder().setText("none"))
                    .addValues(EventValue.newBuilder().setNumber(1))
                    .addValues(EventValue.newBuilder().setReal(0.5))
                    .addValues(EventValue.newBuilder()))
            .build();
    return EventBatch.newBuilder()
        .setMonitor("none")
        .setIncarnation(1)
        .setFirst(1)
        .setCount(list.getEventsCount())
        .setEvents(list.toByteString())
        .build();
  }
}
