package io.tapline.flink.ingest;

import io.tapline.conditions.ConditionException;
import io.tapline.conditions.ConditionProgram;
import io.tapline.schema.BatchReaderException;
import io.tapline.schema.TupleColumns;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import java.util.List;
import java.util.Optional;

/**
 * Finds the rows of a batch that meet a condition. A batch that lacks a column of the condition is
 * malformed. A comparison with an absent value is unknown, so it does not select a row. Each
 * dictionary entry is evaluated once.
 */
final class RowConditions {
  private final TupleColumns columns;
  private final int[] fields;
  private final long[][] longs;
  private final int[][] entries;
  private final boolean[][] absent;

  private RowConditions(ConditionProgram program, TupleColumns columns)
      throws BatchReaderException {
    this.columns = columns;
    int count = program.fields().size();
    fields = program.fields().stream().mapToInt(columns::index).toArray();
    longs = new long[count][];
    entries = new int[count][];
    absent = new boolean[count][];
    for (int field = 0; field < count; field++) {
      if (columns.hasDictionary(fields[field])) {
        entries[field] = columns.entryOfRows(fields[field]);
      } else {
        longs[field] = columns.longs(fields[field]);
        absent[field] = columns.absent(fields[field]);
      }
    }
  }

  /** Returns the rows that meet the condition. */
  static boolean[] meet(ConditionTree condition, TupleColumns columns) throws BatchReaderException {
    try {
      ConditionProgram program = ConditionProgram.compile(condition, name -> type(columns, name));
      for (String field : program.fields()) {
        if (columns.index(field) < 0) {
          throw BatchReaderException.malformed("no column " + field);
        }
      }
      RowConditions rows = new RowConditions(program, columns);
      return program.select(columns.rows(), rows::holds);
    } catch (ConditionException e) {
      throw BatchReaderException.malformed("the columns do not match WHERE: " + e.getMessage());
    }
  }

  private static Optional<Column.Type> type(TupleColumns columns, String name) {
    int column = columns.index(name);
    return column < 0 ? Optional.empty() : Optional.of(columns.type(column));
  }

  private boolean[] holds(ConditionProgram.Leaf leaf) {
    List<Integer> own = leaf.fields();
    if (leaf instanceof ConditionProgram.NumberLeaf numbers) {
      return numbers.holds(longs[own.get(0)], absent[own.get(0)]);
    }
    boolean[] holds = new boolean[columns.rows()];
    boolean byEntry = own.size() == 1 && entries[own.get(0)] != null;
    if (byEntry) {
      int field = own.get(0);
      boolean[] ofEntries = ofEntries(leaf, field);
      for (int row = 0; row < holds.length; row++) {
        holds[row] = ofEntries[entries[field][row]];
      }
      return holds;
    }
    Cursor cursor = new Cursor();
    for (cursor.row = 0; cursor.row < holds.length; cursor.row++) {
      holds[cursor.row] = leaf.holds(cursor);
    }
    return holds;
  }

  /**
   * Evaluates a leaf for each dictionary entry. The additional last result is for rows without a
   * value.
   */
  private boolean[] ofEntries(ConditionProgram.Leaf leaf, int field) {
    int count = columns.entries(fields[field]);
    boolean[] holds = new boolean[count + 1];
    for (int entry = 0; entry <= count; entry++) {
      holds[entry] = leaf.holds(new Entry(columns, fields[field], entry, entry < count));
    }
    return holds;
  }

  /** A dictionary entry, read as a row with only this field. */
  private record Entry(TupleColumns columns, int column, int entry, boolean isPresent)
      implements ConditionProgram.Row {
    @Override
    public boolean isPresent(int field) {
      return isPresent;
    }

    @Override
    public long bits(int field) {
      throw new IllegalStateException("a string or an address is not a number");
    }

    @Override
    public byte[] bytes(int field) {
      return columns.entry(column, entry);
    }
  }

  /** The current row. */
  private final class Cursor implements ConditionProgram.Row {
    private int row;

    @Override
    public boolean isPresent(int field) {
      return entries[field] != null
          ? entries[field][row] < columns.entries(fields[field])
          : absent[field] == null || !absent[field][row];
    }

    @Override
    public long bits(int field) {
      return longs[field][row];
    }

    @Override
    public byte[] bytes(int field) {
      return columns.entry(fields[field], entries[field][row]);
    }
  }
}
