package io.tapline.flink.ingest;

import com.google.protobuf.ByteString;
import io.tapline.conditions.Trees;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import io.tapline.schema.proto.TupleBatch;
import io.tapline.schema.proto.TupleFilter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Drops the rows of a batch that fail the query's WHERE. Thread-safe. */
final class RowFilter {
  /** Conditions by parser; all tuples of other parsers pass. */
  private final Map<String, ConditionTree> conditions;

  RowFilter(List<TupleFilter> filters) {
    Map<String, ConditionTree> byParser = new HashMap<>();
    for (TupleFilter filter : filters) {
      for (String parser : filter.getParsersList()) {
        byParser.merge(parser, filter.getCondition(), (a, b) -> Trees.and(List.of(a, b)));
      }
    }
    conditions = Map.copyOf(byParser);
  }

  /** Returns the batch without the rows that fail; returns the batch itself if none fail. */
  TupleBatch filter(TupleBatch batch) throws BatchReaderException {
    ConditionTree condition = conditions.get(batch.getParser());
    if (condition == null) {
      return batch;
    }
    TupleColumns columns = TupleColumns.of(batch);
    boolean[] kept = RowConditions.meet(condition, columns);
    int count = 0;
    for (boolean keep : kept) {
      count += keep ? 1 : 0;
    }
    return count == kept.length ? batch : rows(batch, kept, count);
  }

  /** Returns the batch with only these rows; dictionaries are unchanged. */
  private static TupleBatch rows(TupleBatch batch, boolean[] kept, int count) {
    TupleBatch.Builder filtered = batch.toBuilder().setRows(count).clearColumns();
    for (Column column : batch.getColumnsList()) {
      int width = column.getWidth();
      byte[] data = new byte[count * width];
      int index = 0;
      for (int row = 0; row < kept.length; row++) {
        if (kept[row]) {
          column.getData().copyTo(data, row * width, index, width);
          index += width;
        }
      }
      filtered.addColumns(
          column.toBuilder()
              .setData(ByteString.copyFrom(data))
              .setPresent(present(column.getPresent(), kept, count)));
    }
    return filtered.build();
  }

  private static ByteString present(ByteString bits, boolean[] kept, int count) {
    if (bits.isEmpty()) {
      return bits;
    }
    byte[] left = new byte[(count + Byte.SIZE - 1) / Byte.SIZE];
    int index = 0;
    for (int row = 0; row < kept.length; row++) {
      if (kept[row]) {
        int bit = bits.byteAt(row / Byte.SIZE) >> row % Byte.SIZE & 1;
        left[index / Byte.SIZE] |= (byte) (bit << index % Byte.SIZE);
        index++;
      }
    }
    return ByteString.copyFrom(left);
  }
}
