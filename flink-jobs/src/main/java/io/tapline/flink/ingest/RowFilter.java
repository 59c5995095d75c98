package io.tapline.flink.ingest;

import com.google.protobuf.ByteString;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.FieldCondition;
import io.tapline.schema.proto.TupleBatch;
import java.util.List;

/** The query's WHERE: drops the rows of a batch that fail one of its conditions. Thread-safe. */
final class RowFilter {
  private final List<FieldCondition> conditions;

  RowFilter(List<FieldCondition> conditions) {
    this.conditions = conditions;
  }

  /** Returns the batch itself if no row is dropped. */
  TupleBatch filter(TupleBatch batch) throws BatchReaderException {
    if (conditions.isEmpty()) {
      return batch;
    }
    TupleColumns columns = TupleColumns.of(batch);
    boolean[] kept = RowConditions.meet(conditions, batch.getParser(), columns);
    int count = 0;
    for (boolean keep : kept) {
      count += keep ? 1 : 0;
    }
    return count == kept.length ? batch : rows(batch, kept, count);
  }

  /** Returns the same batch with only these rows; dictionaries stay. */
  private static TupleBatch rows(TupleBatch batch, boolean[] kept, int count) {
    TupleBatch.Builder filtered = batch.toBuilder().setRows(count).clearColumns();
    for (Column column : batch.getColumnsList()) {
      int width = column.getWidth();
      byte[] data = new byte[count * width];
      int at = 0;
      for (int row = 0; row < kept.length; row++) {
        if (kept[row]) {
          column.getData().copyTo(data, row * width, at, width);
          at += width;
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
    int at = 0;
    for (int row = 0; row < kept.length; row++) {
      if (kept[row]) {
        int bit = bits.byteAt(row / Byte.SIZE) >> row % Byte.SIZE & 1;
        left[at / Byte.SIZE] |= (byte) (bit << at % Byte.SIZE);
        at++;
      }
    }
    return ByteString.copyFrom(left);
  }
}
