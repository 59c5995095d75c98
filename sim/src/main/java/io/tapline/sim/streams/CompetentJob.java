package io.tapline.sim.streams;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;

/**
 * A job as a Flink expert would write it, over the same JSON as {@link TextbookJob} and with the
 * same results. It reuses objects and reads JSON token by token. Each subtask sums one-second panes
 * before it sends anything over the network ({@link PaneSums}). Sliding windows are sums of panes,
 * maintained by adding one pane and subtracting another ({@link SlidingRanking}).
 */
final class CompetentJob {
  static final long PANE_MS = 1_000;

  private CompetentJob() {}

  /** A key's sum and count in a pane; mutable, as Flink's POJOs must be. */
  public static final class Pane {
    public String key = "";
    public long startMs;
    public long sum;
    public long count;
  }

  /** Builds the job; its rankings go to {@link Rankings}. */
  static void build(
      StreamExecutionEnvironment env, KafkaSource<Event> source, Traffic.Kind kind, String run) {
    env.getConfig().enableObjectReuse();
    WatermarkStrategy<Event> watermarks =
        WatermarkStrategy.<Event>forMonotonousTimestamps()
            .withTimestampAssigner((event, before) -> event.timeNs / 1_000_000);
    values(env.fromSource(source, watermarks, "json"), kind)
        .transform("panes", TypeInformation.of(Pane.class), new PaneSums())
        .keyBy(pane -> pane.key)
        .transform(
            "windows",
            Types.TUPLE(Types.STRING, Types.LONG, Types.LONG),
            new SlidingRanking(TextbookJob.SIZE.toMillis(), TextbookJob.ROWS))
        .windowAll(TumblingEventTimeWindows.of(Duration.ofMillis(PANE_MS)))
        .process(new TextbookJob.Top(run))
        .sinkTo(new DiscardingSink<>());
  }

  /** Returns panes of a single value each, reusing one object. */
  private static DataStream<Pane> values(DataStream<Event> events, Traffic.Kind kind) {
    if (kind != Traffic.Kind.TOP_K) {
      return events.keyBy(event -> event.flow).process(new Pair(kind == Traffic.Kind.JOIN));
    }
    return events.map(new Count());
  }

  /** Counts one request for its URL. */
  private static final class Count implements MapFunction<Event, Pane> {
    private transient Pane pane;

    @Override
    public Pane map(Event event) {
      if (pane == null) {
        pane = new Pane();
      }
      pane.key = event.url;
      pane.startMs = paneOf(event.timeNs);
      pane.sum = 1;
      pane.count = 1;
      return pane;
    }
  }

  static long paneOf(long timeNs) {
    return timeNs / 1_000_000 / PANE_MS * PANE_MS;
  }

  /** Parses only the required fields, into one reused object. */
  static final class Parse extends AbstractDeserializationSchema<Event> {
    private static final JsonFactory JSON = new JsonFactory();
    private transient Event event;

    Parse() {
      super(Event.class);
    }

    @Override
    public Event deserialize(byte[] json) throws IOException {
      if (event == null) {
        event = new Event();
      }
      event.url = "";
      event.event = "";
      try (JsonParser parser = JSON.createParser(json)) {
        parser.nextToken();
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String name = parser.currentName();
          parser.nextToken();
          switch (name) {
            case "time_ns" -> event.timeNs = parser.getLongValue();
            case "flow_id" -> event.flow = parser.getText();
            case "src_ip" -> event.client = parser.getText();
            case "url" -> event.url = parser.getText();
            case "event" -> event.event = parser.getText();
            default -> parser.skipChildren();
          }
        }
      }
      return event;
    }
  }

  /** The start of a flow, and the URL of its request. */
  public static final class OpenFlow {
    public long startNs;
    public String url;
  }

  /** Pairs events as the textbook job does, but with a single state entry per flow. */
  private static final class Pair extends KeyedProcessFunction<String, Event, Pane> {
    private final boolean join;
    private transient ValueState<OpenFlow> open;
    private transient Pane pane;

    private Pair(boolean join) {
      this.join = join;
    }

    @Override
    public void open(OpenContext context) {
      open = getRuntimeContext().getState(new ValueStateDescriptor<>("open", OpenFlow.class));
      pane = new Pane();
    }

    @Override
    public void processElement(Event event, Context context, Collector<Pane> out)
        throws IOException {
      if (event.event.equals("syn")) {
        OpenFlow began = new OpenFlow();
        began.startNs = event.timeNs;
        open.update(began);
        return;
      }
      OpenFlow window = open.value();
      if (window == null) {
        return;
      }
      if (event.event.isEmpty()) {
        window.url = event.url;
        open.update(window);
        return;
      }
      String key = join ? window.url : event.client;
      if (key != null) {
        pane.key = key;
        pane.startMs = paneOf(event.timeNs);
        pane.sum = event.timeNs - window.startNs;
        pane.count = 1;
        out.collect(pane);
      }
      open.clear();
    }
  }
}
