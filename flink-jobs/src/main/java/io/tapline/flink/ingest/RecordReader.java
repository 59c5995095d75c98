package io.tapline.flink.ingest;

import io.tapline.schema.BatchReader;
import io.tapline.schema.BatchReaderException;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Decodes the envelope of each Kafka record. Never fails, even if the record is invalid. */
final class RecordReader implements KafkaRecordDeserializationSchema<Record> {
  @Override
  public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Record> out) {
    out.collect(read(record.partition(), record.offset(), record.value()));
  }

  static Record read(int partition, long offset, byte[] value) {
    if (value == null) {
      return new Record(partition, offset, null, null, "malformed_batch");
    }
    try {
      return new Record(partition, offset, null, BatchReader.read(value), null);
    } catch (BatchReaderException e) {
      return new Record(
          partition,
          offset,
          null,
          null,
          e.reason() == BatchReaderException.Reason.UNKNOWN_FORMAT
              ? "unknown_format"
              : "malformed_batch");
    }
  }

  @Override
  public TypeInformation<Record> getProducedType() {
    return TypeInformation.of(Record.class);
  }
}
