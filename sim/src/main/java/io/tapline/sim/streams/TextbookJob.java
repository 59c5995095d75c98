package io.tapline.sim.streams;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.AbstractDeserializationSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * A job as a textbook would write it: one JSON object per record, keyBy, sliding windows of 10 s
 * every second, and windowAll for the ranking. It is a baseline of {@link StreamBenchmark}: it
 * reads the same input, and its rankings are only used for comparison.
 */
final class TextbookJob {
  static final Duration SIZE = Duration.ofSeconds(10);
  private static final Duration SLIDE = Duration.ofSeconds(1);
  static final int ROWS = 10;

  private TextbookJob() {}

  /** Builds the job; its rankings go to {@link Rankings}. */
  static void build(
      StreamExecutionEnvironment env, KafkaSource<Event> source, Traffic.Kind kind, String run) {
    WatermarkStrategy<Event> watermarks =
        WatermarkStrategy.<Event>forMonotonousTimestamps()
            .withTimestampAssigner((event, before) -> event.timeNs / 1_000_000);
    values(env.fromSource(source, watermarks, "json"), kind)
        .keyBy(value -> value.f0)
        .window(SlidingEventTimeWindows.of(SIZE, SLIDE))
        .aggregate(new Sum())
        .windowAll(TumblingEventTimeWindows.of(SLIDE))
        .process(new Top(run))
        .sinkTo(new DiscardingSink<>());
  }

  /** Returns triples of key, value and one. */
  private static DataStream<Tuple3<String, Long, Long>> values(
      DataStream<Event> events, Traffic.Kind kind) {
    return kind == Traffic.Kind.TOP_K
        ? events
            .map(event -> Tuple3.of(event.url, 1L, 1L))
            .returns(Types.TUPLE(Types.STRING, Types.LONG, Types.LONG))
        : events.keyBy(event -> event.flow).process(new Pair(kind == Traffic.Kind.JOIN));
  }

  static final class Parse extends AbstractDeserializationSchema<Event> {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    Parse() {
      super(Event.class);
    }

    @Override
    public Event deserialize(byte[] json) throws IOException {
      return MAPPER.readValue(json, Event.class);
    }
  }

  /** Pairs the start and end of a flow and, for the join, the URL of its request. */
  private static final class Pair
      extends KeyedProcessFunction<String, Event, Tuple3<String, Long, Long>> {
    private final boolean join;
    private transient ValueState<Long> start;
    private transient ValueState<String> url;

    private Pair(boolean join) {
      this.join = join;
    }

    @Override
    public void open(OpenContext context) {
      start = getRuntimeContext().getState(new ValueStateDescriptor<>("start", Types.LONG));
      url = getRuntimeContext().getState(new ValueStateDescriptor<>("url", Types.STRING));
    }

    @Override
    public void processElement(
        Event event, Context context, Collector<Tuple3<String, Long, Long>> out)
        throws IOException {
      if (event.event.equals("syn")) {
        start.update(event.timeNs);
      } else if (event.event.isEmpty()) {
        url.update(event.url);
      } else if (start.value() != null) {
        String key = join ? url.value() : event.client;
        if (key != null) {
          out.collect(Tuple3.of(key, event.timeNs - start.value(), 1L));
        }
        start.clear();
        url.clear();
      }
    }
  }

  private static final class Sum
      implements AggregateFunction<
          Tuple3<String, Long, Long>, Tuple3<String, Long, Long>, Tuple3<String, Long, Long>> {
    @Override
    public Tuple3<String, Long, Long> createAccumulator() {
      return Tuple3.of("", 0L, 0L);
    }

    @Override
    public Tuple3<String, Long, Long> add(
        Tuple3<String, Long, Long> value, Tuple3<String, Long, Long> sum) {
      return Tuple3.of(value.f0, sum.f1 + value.f1, sum.f2 + value.f2);
    }

    @Override
    public Tuple3<String, Long, Long> getResult(Tuple3<String, Long, Long> sum) {
      return sum;
    }

    @Override
    public Tuple3<String, Long, Long> merge(
        Tuple3<String, Long, Long> a, Tuple3<String, Long, Long> b) {
      return Tuple3.of(a.f0, a.f1 + b.f1, a.f2 + b.f2);
    }
  }

  /** Keeps a window's rows with the highest values. */
  static final class Top
      extends ProcessAllWindowFunction<Tuple3<String, Long, Long>, String, TimeWindow> {
    private final String run;

    Top(String run) {
      this.run = run;
    }

    @Override
    public void process(
        Context context, Iterable<Tuple3<String, Long, Long>> rows, Collector<String> out) {
      PriorityQueue<Tuple3<String, Long, Long>> best =
          new PriorityQueue<>(Comparator.comparingDouble(Top::value));
      for (Tuple3<String, Long, Long> row : rows) {
        best.add(row);
        if (best.size() > ROWS) {
          best.poll();
        }
      }
      Rankings.put(run, context.window().getEnd(), best.stream().map(Top::value).toList());
      out.collect(best.toString());
    }

    private static double value(Tuple3<String, Long, Long> row) {
      return value(row.f1, row.f2);
    }

    /** Returns a count, or a mean of durations. */
    static double value(long sum, long count) {
      return sum == count ? sum : (double) sum / count;
    }
  }
}
