package io.tapline.flink;

import io.tapline.schema.proto.Processor;
import java.io.Serializable;

/**
 * The rows that a ranking keeps.
 *
 * @param rows number of rows kept
 * @param ascending whether the smallest values come first
 */
public record RankingSpec(int rows, boolean ascending) implements Serializable {
  static RankingSpec of(Processor processor) {
    ProcessorSpec.check(
        processor.getRanking().getK() > 0,
        processor.getName(),
        "ranks no rows: k must be 1 or more");
    return new RankingSpec(processor.getRanking().getK(), processor.getRanking().getAscending());
  }
}
