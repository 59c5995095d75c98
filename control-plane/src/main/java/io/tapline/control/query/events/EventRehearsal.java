package io.tapline.control.query.events;

import com.google.protobuf.ByteString;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import io.tapline.schema.rpc.EventValue;
import java.util.List;

/**
 * Events of a query that does not exist. Redis ignores them, so they leave no trace. A server that
 * has processed such events does not delay its first real ones by loading and interpreting classes,
 * which takes 40 to 200 ms on a busy machine.
 */
final class EventRehearsal {
  /** The nonexistent query's ID. */
  static final String QUERY = "";

  /** Number of batches: more than the calls that Java interprets before it compiles a method. */
  static final int BATCHES = 256;

  private static final ByteString ADDRESS = ByteString.copyFrom(new byte[] {127, 0, 0, 1});

  private EventRehearsal() {}

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
