package io.tapline.sim.streams;

import io.tapline.flink.KafkaClients;
import io.tapline.flink.KafkaEndpoint;
import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Jobs with which the stream job is compared; both read JSON. */
enum Baseline {
  TEXTBOOK("the textbook job", new TextbookJob.Parse()) {
    @Override
    void build(
        StreamExecutionEnvironment env, KafkaSource<Event> source, Traffic.Kind kind, String run) {
      TextbookJob.build(env, source, kind, run);
    }
  },
  COMPETENT("the competent job", new CompetentJob.Parse()) {
    @Override
    void build(
        StreamExecutionEnvironment env, KafkaSource<Event> source, Traffic.Kind kind, String run) {
      CompetentJob.build(env, source, kind, run);
    }
  };

  private final String label;
  private final DeserializationSchema<Event> parse;

  Baseline(String label, DeserializationSchema<Event> parse) {
    this.label = label;
    this.parse = parse;
  }

  String label() {
    return label;
  }

  /** Returns an unbounded source of the whole topic; the caller may bound it. */
  KafkaSourceBuilder<Event> source(KafkaEndpoint kafka, String topic) {
    return KafkaSource.<Event>builder()
        .setProperties(KafkaClients.properties(kafka))
        .setTopics(topic)
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setValueOnlyDeserializer(parse);
  }

  /**
   * Builds the job.
   *
   * @param run name of the run in {@link Rankings}
   */
  abstract void build(
      StreamExecutionEnvironment env, KafkaSource<Event> source, Traffic.Kind kind, String run);
}
