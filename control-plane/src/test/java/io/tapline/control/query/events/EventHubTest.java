package io.tapline.control.query.events;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import io.tapline.control.testing.Await;
import io.tapline.control.testing.TestRedis;
import io.tapline.schema.rpc.Event;
import io.tapline.schema.rpc.EventBatch;
import io.tapline.schema.rpc.EventList;
import io.tapline.schema.rpc.EventSchema;
import io.tapline.schema.rpc.EventValue;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;

@Timeout(60)
class EventHubTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final TestRedis redis;
  private final JedisPool pool;
  private final EventStore store;
  private final AtomicLong acknowledged = new AtomicLong(-1);

  EventHubTest() throws Exception {
    redis = TestRedis.start();
    pool = pool(redis);
    store = new EventStore(pool);
  }

  private static JedisPool pool(TestRedis redis) {
    JedisPoolConfig settings = new JedisPoolConfig();
    settings.setTestOnBorrow(true);
    return new JedisPool(
        settings, HostAndPort.from(redis.address()), DefaultJedisClientConfig.builder().build());
  }

  @AfterEach
  void stop() throws Exception {
    pool.close();
    redis.close();
  }

  private static EventBatch batch(long first, int events) {
    EventList.Builder list =
        EventList.newBuilder()
            .addSchemas(
                EventSchema.newBuilder().setParser("p").addFields("size").addFields("name"));
    for (int i = 0; i < events; i++) {
      list.addEvents(
          Event.newBuilder()
              .setTimeNs(5)
              .setFlowHash(0xab)
              .setSrcIp(ByteString.copyFrom(new byte[] {10, 0, 0, 1}))
              .setSrcPort(80)
              .addValues(EventValue.newBuilder().setNumber(first + i))
              .addValues(EventValue.getDefaultInstance()));
    }
    return EventBatch.newBuilder()
        .setQuery("q-1")
        .setMonitor("h1")
        .setIncarnation(7)
        .setFirst(first)
        .setCount(events)
        .setEvents(list.build().toByteString())
        .build();
  }

  private void take(EventHub hub, EventBatch batch) {
    assertThat(hub.events("h1", batch, acknowledged::set)).isTrue();
  }

  private List<JsonNode> logged() throws IOException {
    List<JsonNode> events = new ArrayList<>();
    long number = 0;
    for (List<EventEntry> page = store.after("q-1", number);
        !page.isEmpty();
        page = store.after("q-1", number)) {
      for (EventEntry entry : page) {
        assertThat(entry.number()).isEqualTo(++number);
        MAPPER.readTree(entry.json()).path("events").forEach(events::add);
      }
    }
    return events;
  }

  private static List<Long> sizes(List<JsonNode> events) {
    return events.stream().map(event -> event.at("/fields/size").asLong()).toList();
  }

  @Test
  void eventsAreLoggedPassedOnAndAcknowledged() throws Exception {
    try (EventHub hub = new EventHub(store)) {
      hub.open("q-1", false);
      EventFeed feed = hub.of("q-1").orElseThrow();
      take(hub, batch(0, 2));
      take(hub, batch(3, 1));
      hub.drain();
      assertThat(acknowledged).hasValue(4);
      assertThat(feed.last()).isEqualTo(2);
      assertThat(feed.after(1)).hasSize(1);
      JsonNode last = MAPPER.readTree(feed.after(1).get(0).json());
      assertThat(last.path("received").asLong()).isEqualTo(3);
      assertThat(last.path("missing").asLong()).isEqualTo(1);
      JsonNode event = logged().get(2);
      assertThat(event.path("src_ip").asText()).isEqualTo("10.0.0.1");
      assertThat(event.path("flow_id").asText()).isEqualTo("00000000000000ab-00000000");
      assertThat(event.at("/fields/size").asLong()).isEqualTo(3);
      assertThat(event.at("/fields/name").isNull()).isTrue();
    }
  }

  @Test
  void aRehearsalLeavesNoTrace() throws Exception {
    try (EventHub hub = new EventHub(store)) {
      hub.drain();
      assertThat(store.after(EventRehearsal.QUERY, 0)).isEmpty();
      assertThat(hub.of(EventRehearsal.QUERY)).isEmpty();
      hub.open("q-1", false);
      take(hub, batch(0, 2));
      hub.drain();
    }
    assertThat(acknowledged).hasValue(2);
    assertThat(sizes(logged())).containsExactly(0L, 1L);
  }

  @Test
  void theNextLeaderLogsNothingTwice() throws Exception {
    try (EventHub first = new EventHub(store)) {
      first.open("q-1", false);
      take(first, batch(0, 2));
      take(first, batch(2, 2));
      first.drain();
    }
    try (EventHub second = new EventHub(store)) {
      second.open("q-1", true);
      // An agent that missed the first hub's acknowledgement resends these events.
      take(second, batch(2, 2));
      take(second, batch(3, 3));
      second.drain();
      assertThat(acknowledged).hasValue(6);
    }
    assertThat(sizes(logged())).containsExactly(0L, 1L, 2L, 3L, 4L, 5L);
  }

  @Test
  void aDeposedControlPlaneAcknowledgesNothing() throws Exception {
    try (EventHub deposed = new EventHub(store);
        EventHub leading = new EventHub(store)) {
      deposed.open("q-1", false);
      take(deposed, batch(0, 2));
      deposed.drain();
      leading.open("q-1", true);
      take(leading, batch(2, 2));
      leading.drain();
      assertThat(acknowledged).hasValue(4);
      take(deposed, batch(2, 3));
      // This is longer than the deposed hub's pause before its second attempt.
      Thread.sleep(1500);
      assertThat(acknowledged).hasValue(4);
      assertThat(deposed.of("q-1").orElseThrow().last()).isEqualTo(1);
    }
    assertThat(sizes(logged())).containsExactly(0L, 1L, 2L, 3L);
  }

  @Test
  void duringAnOutageOfRedisNothingIsAcknowledgedOrLost() throws Exception {
    try (EventHub hub = new EventHub(store)) {
      hub.open("q-1", false);
      take(hub, batch(0, 1));
      hub.drain();
      redis.close();
      take(hub, batch(1, 2));
      Thread.sleep(300);
      assertThat(acknowledged).hasValue(1);
      redis.launch();
      take(hub, batch(3, 1));
      Await.until("acknowledged", Duration.ofSeconds(20), () -> acknowledged.get() == 4);
      assertThat(hub.of("q-1").orElseThrow().last()).isEqualTo(3);
    }
  }

  @Test
  void oneAcknowledgementCoversAllWaitingBatches() throws Exception {
    List<Long> acknowledgements = new CopyOnWriteArrayList<>();
    try (EventHub hub = new EventHub(store)) {
      hub.open("q-1", false);
      redis.close();
      hub.events("h1", batch(0, 1), acknowledgements::add);
      Thread.sleep(300);
      for (int i = 1; i <= 100; i++) {
        hub.events("h1", batch(i, 1), acknowledgements::add);
      }
      hub.events("h1", batch(0, 1), acknowledgements::add);
      redis.launch();
      Await.until("acknowledged", Duration.ofSeconds(20), () -> acknowledgements.contains(101L));
      assertThat(acknowledgements).hasSizeLessThanOrEqualTo(2).endsWith(101L);
    }
  }

  @Test
  void valuesAreWrittenByTheirTypes() throws Exception {
    EventList list =
        EventList.newBuilder()
            .addSchemas(
                EventSchema.newBuilder()
                    .setParser("p")
                    .addAllFields(List.of("most", "negative", "half", "yes", "text")))
            .addEvents(
                Event.newBuilder()
                    .setFlowHash(-1)
                    .setFlowIncarnation(0x8000_00ef)
                    .setDstIp(ByteString.copyFrom(new byte[16]))
                    .addValues(EventValue.newBuilder().setNumber(-1))
                    .addValues(EventValue.newBuilder().setInteger(-7))
                    .addValues(EventValue.newBuilder().setReal(0.5))
                    .addValues(EventValue.newBuilder().setTruth(true))
                    .addValues(EventValue.newBuilder().setText("\"é\n")))
            .build();
    try (EventHub hub = new EventHub(store)) {
      hub.open("q-1", false);
      take(hub, batch(0, 1).toBuilder().setEvents(list.toByteString()).build());
      hub.drain();
    }
    JsonNode event = logged().get(0);
    assertThat(event.path("parser").asText()).isEqualTo("p");
    assertThat(event.path("flow_id").asText()).isEqualTo("ffffffffffffffff-800000ef");
    assertThat(event.path("src_ip").asText()).isEmpty();
    assertThat(event.path("dst_ip").asText()).isEqualTo("::");
    assertThat(event.path("fields").toString())
        .isEqualTo(
            "{\"most\":18446744073709551615,\"negative\":-7,\"half\":0.5,\"yes\":true,\"text\":\"\\\"é\\n\"}");
  }

  @Test
  void unreadableEventsCountAsMissing() throws Exception {
    try (EventHub hub = new EventHub(store)) {
      hub.open("q-1", false);
      take(hub, batch(0, 2).toBuilder().setEvents(ByteString.copyFromUtf8("no list")).build());
      take(hub, batch(2, 2).toBuilder().setCount(3).build());
      take(hub, batch(5, 1));
      hub.drain();
      JsonNode entry = MAPPER.readTree(hub.of("q-1").orElseThrow().after(0).get(0).json());
      assertThat(entry.path("received").asLong()).isEqualTo(1);
      assertThat(entry.path("missing").asLong()).isEqualTo(5);
    }
  }

  @Test
  void eventsOfUnknownQueriesAreDropped() throws Exception {
    try (EventHub hub = new EventHub(store)) {
      take(hub, batch(0, 5));
      hub.drain();
      assertThat(acknowledged).hasValue(5);
      assertThat(logged()).isEmpty();
    }
  }
}
