package io.tapline.flink;

import io.tapline.schema.proto.Processor;
import java.io.Serializable;
import java.util.List;

/**
 * The fields by which a processor groups tuples.
 *
 * @param joinParser parser of the joined fields; empty without a join
 * @param joinFields fields taken from that parser's tuple of the same flow
 */
public record KeySpec(List<String> fields, String joinParser, List<String> joinFields)
    implements Serializable {
  static KeySpec of(Processor processor) {
    return new KeySpec(
        List.copyOf(processor.getKeyList()),
        processor.getJoin().getParser(),
        List.copyOf(processor.getJoin().getFieldsList()));
  }

  public boolean isJoin() {
    return !joinParser.isEmpty();
  }
}
