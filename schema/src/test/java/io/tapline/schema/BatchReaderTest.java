package io.tapline.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.tapline.schema.BatchWriter.ColumnSpec;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.TupleBatch;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Tests that the reader reads everything that the writer wrote, rejects inconsistent input, and
 * does not fail in any other way.
 */
class BatchReaderTest {
  private static final Column.Type[] TYPES = {
    Column.Type.U64, Column.Type.I64, Column.Type.F64,
    Column.Type.BOOL, Column.Type.STRING, Column.Type.ADDRESS
  };

  static IntStream seeds() {
    return IntStream.range(0, 100);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void randomRowsAreDecodedUnchanged(int seed) throws BatchReaderException {
    Random random = new Random(seed);
    List<ColumnSpec> specs = specs(random);
    List<Object[]> rows = rows(specs, random);
    TupleColumns columns = TupleColumns.of(BatchReader.read(write(specs, rows).toByteArray()));

    assertThat(columns.rows()).isEqualTo(rows.size());
    for (int i = 0; i < specs.size(); i++) {
      assertThat(columns.index(specs.get(i).name())).isEqualTo(i);
      for (int row = 0; row < rows.size(); row++) {
        assertThat(value(columns, i, row)).isEqualTo(rows.get(row)[i]);
        if (!columns.hasDictionary(i)) {
          assertThat(columns.longAt(i, row)).isEqualTo(columns.longs(i)[row]);
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void damagedBatchesAreParsedOrRejected(int seed) {
    Random random = new Random(seed);
    List<ColumnSpec> specs = specs(random);
    byte[] bytes = write(specs, rows(specs, random)).toByteArray();
    for (int i = 0; i < 200; i++) {
      byte[] damaged =
          Arrays.copyOf(
              bytes, random.nextInt(4) == 0 ? random.nextInt(bytes.length) : bytes.length);
      for (int flips = random.nextInt(3); flips >= 0 && damaged.length > 0; flips--) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt();
      }
      decodeAll(damaged);
    }
  }

  /** Decodes all columns. An exception other than {@link BatchReaderException} fails the test. */
  private static void decodeAll(byte[] record) {
    try {
      TupleColumns columns = TupleColumns.of(BatchReader.read(record));
      for (int i = 0; i < columns.count(); i++) {
        for (int row = 0; row < columns.rows(); row++) {
          value(columns, i, row);
        }
      }
    } catch (BatchReaderException e) {
      assertThat(e).hasMessageMatching("(?s).+");
    }
  }

  @Test
  void goldenBatchIsEncodedToTheSameBytes() throws Exception {
    byte[] golden = Files.readAllBytes(Path.of("golden/tuples.batch"));
    TupleBatch batch = BatchReader.read(golden);
    TupleColumns columns = TupleColumns.of(batch);
    List<ColumnSpec> specs =
        batch.getColumnsList().stream()
            .map(column -> new ColumnSpec(column.getName(), column.getType(), column.getUnit()))
            .toList();
    BatchWriter writer = new BatchWriter(specs);
    for (int row = 0; row < columns.rows(); row++) {
      Object[] values = new Object[specs.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = value(columns, i, row);
      }
      writer.row(values);
    }
    assertThat(writer.write(batch.toBuilder())).isEqualTo(batch);
  }

  @Test
  void heartbeatHasNoColumns() throws IOException, BatchReaderException {
    TupleColumns columns =
        TupleColumns.of(BatchReader.read(Files.readAllBytes(Path.of("golden/heartbeat.batch"))));
    assertThat(columns.rows()).isZero();
    assertThat(columns.count()).isZero();
  }

  @Test
  void anotherFormatIsDistinguishedFromGarbage() {
    byte[] newer = TupleBatch.newBuilder().setFormat(2).build().toByteArray();
    assertThatThrownBy(() -> BatchReader.read(newer))
        .hasMessage("batch has format 2, this reader supports 1")
        .extracting(e -> ((BatchReaderException) e).reason())
        .isEqualTo(BatchReaderException.Reason.UNKNOWN_FORMAT);
    assertThatThrownBy(() -> BatchReader.read("GET / HTTP/1.1".getBytes()))
        .extracting(e -> ((BatchReaderException) e).reason())
        .isEqualTo(BatchReaderException.Reason.MALFORMED);
  }

  record Contradiction(String message, UnaryOperator<TupleBatch.Builder> damage) {
    static Contradiction column(String message, int index, UnaryOperator<Column.Builder> damage) {
      return new Contradiction(
          message,
          batch -> batch.setColumns(index, damage.apply(batch.getColumns(index).toBuilder())));
    }
  }

  static Stream<Contradiction> contradictions() {
    ByteString five = ByteString.copyFrom(new byte[] {5, 5});
    return Stream.of(
        new Contradiction("batch claims 4294967295 rows", batch -> batch.setRows(-1)),
        new Contradiction("batch has 2 rows and no columns", TupleBatch.Builder::clearColumns),
        new Contradiction(
            "above 0 and at most 1, not NaN", batch -> batch.setSamplingRate(Double.NaN)),
        new Contradiction("above 0 and at most 1, not 0.0", batch -> batch.setSamplingRate(0)),
        Contradiction.column("column u has width 3", 0, column -> column.setWidth(3)),
        Contradiction.column(
            "column u has 2 bytes for 2 rows of 8 bytes", 0, column -> column.setWidth(8)),
        Contradiction.column("column s occurs twice", 0, column -> column.setName("s")),
        Contradiction.column("F64 without width 8", 0, column -> column.setType(Column.Type.F64)),
        Contradiction.column("unknown type 77", 0, column -> column.setTypeValue(77)),
        Contradiction.column(
            "row 0 of column u is 6", 0, c -> c.setType(Column.Type.BOOL).setData(five)),
        Contradiction.column("row 0 of column s is 5", 1, column -> column.setData(five)),
        Contradiction.column("row 0 of column s is 184", 1, column -> column.setBase(-1)),
        Contradiction.column("ends outside", 1, column -> column.setDictionaryEnd(0, 9)),
        Contradiction.column("ends outside", 1, column -> column.setDictionaryEnd(1, 0)),
        Contradiction.column(
            "beyond its end", 1, c -> c.setDictionaryEnd(0, 0).setDictionaryEnd(1, 0)),
        Contradiction.column(
            "an address of 1 bytes", 1, column -> column.setType(Column.Type.ADDRESS)),
        Contradiction.column(
            "column u has a presence map of 2 bytes for 2 rows",
            0,
            column -> column.setPresent(five)));
  }

  @Test
  void missingValuesAreMarkedAndReadAsZeroByOlderReaders() throws BatchReaderException {
    List<ColumnSpec> specs =
        List.of(
            new ColumnSpec("n", Column.Type.I64, "ns"),
            new ColumnSpec("s", Column.Type.STRING, ""));
    List<Object[]> rows = new ArrayList<>();
    for (int row = 0; row < 10; row++) {
      rows.add(new Object[] {row % 3 == 1 ? null : 100L + row, row == 9 ? null : "x" + row});
    }
    TupleBatch batch = write(specs, rows);
    assertThat(batch.getColumns(0).getPresent().toByteArray()).containsExactly(0x6d, 0x03);
    assertThat(batch.getColumns(1).getPresent().toByteArray()).containsExactly(0xff, 0x01);

    TupleColumns columns = TupleColumns.of(batch);
    assertThat(columns.absent(0))
        .containsExactly(false, true, false, false, true, false, false, true, false, false);
    assertThat(columns.entryOfRows(1)[9]).isEqualTo(columns.entries(1));
    assertThat(columns.isPresent(1, 8)).isTrue();
    assertThat(columns.isPresent(1, 9)).isFalse();

    TupleBatch.Builder old = batch.toBuilder();
    old.getColumnsBuilderList().forEach(Column.Builder::clearPresent);
    TupleColumns older = TupleColumns.of(old.build());
    assertThat(older.absent(0)).isNull();
    assertThat(older.longs(0)).containsExactly(100, 0, 102, 103, 0, 105, 106, 0, 108, 109);
    assertThat(value(older, 1, 9)).isEqualTo("");
  }

  @Test
  void aFullBitmapIsOmitted() throws BatchReaderException {
    TupleBatch batch =
        write(
            List.of(new ColumnSpec("n", Column.Type.U64, "")),
            List.of(new Object[] {1L}, new Object[] {2L}));
    assertThat(batch.getColumns(0).getPresent()).isEmpty();
    Column full =
        batch.getColumns(0).toBuilder().setPresent(ByteString.copyFrom(new byte[] {3})).build();
    assertThat(TupleColumns.of(batch.toBuilder().setColumns(0, full).build()).absent(0)).isNull();
  }

  @ParameterizedTest
  @MethodSource("contradictions")
  void contradictionsAreNamed(Contradiction contradiction) {
    List<ColumnSpec> specs =
        List.of(
            new ColumnSpec("u", Column.Type.U64, ""), new ColumnSpec("s", Column.Type.STRING, ""));
    TupleBatch goodBatch = write(specs, List.of(new Object[] {1L, "a"}, new Object[] {2L, "b"}));
    TupleBatch bad = contradiction.damage().apply(goodBatch.toBuilder()).build();
    assertThatThrownBy(
            () -> {
              TupleColumns columns = TupleColumns.of(bad);
              columns.longs(0);
              columns.entryOfRows(1);
            })
        .isInstanceOf(BatchReaderException.class)
        .hasMessageContaining(contradiction.message());
  }

  private static Object value(TupleColumns columns, int column, int row)
      throws BatchReaderException {
    if (!columns.isPresent(column, row)) {
      return null;
    }
    return switch (columns.type(column)) {
      case STRING -> new String(entry(columns, column, row), StandardCharsets.UTF_8);
      case ADDRESS -> columns.bytesAt(column, row);
      case F64 -> Double.longBitsToDouble(columns.longs(column)[row]);
      case BOOL -> columns.longs(column)[row] == 1;
      default -> columns.longs(column)[row];
    };
  }

  private static byte[] entry(TupleColumns columns, int column, int row)
      throws BatchReaderException {
    return columns.entry(column, columns.entryOfRows(column)[row]);
  }

  private static TupleBatch write(List<ColumnSpec> specs, List<Object[]> rows) {
    BatchWriter writer = new BatchWriter(specs);
    rows.forEach(writer::row);
    return writer.write(TupleBatch.newBuilder().setFormat(1).setSamplingRate(0.5));
  }

  private static List<ColumnSpec> specs(Random random) {
    List<ColumnSpec> specs = new ArrayList<>();
    for (int i = random.nextInt(1, 8); i > 0; i--) {
      specs.add(new ColumnSpec("c" + i, TYPES[random.nextInt(TYPES.length)], "ns"));
    }
    return specs;
  }

  private static List<Object[]> rows(List<ColumnSpec> specs, Random random) {
    List<Object[]> rows = new ArrayList<>();
    long[] centres = random.longs(specs.size()).toArray();
    int absent = random.nextInt(specs.size() + 3);
    int bits = random.nextInt(64);
    for (int i = random.nextInt(40); i > 0; i--) {
      Object[] row = new Object[specs.size()];
      for (int c = 0; c < row.length; c++) {
        row[c] = value(specs.get(c).type(), centres[c], random.nextLong() >>> bits, random);
        row[c] = c == absent && random.nextBoolean() ? null : row[c];
      }
      rows.add(row);
    }
    return rows;
  }

  private static Object value(Column.Type type, long centre, long offset, Random random) {
    return switch (type) {
      case F64 -> random.nextGaussian();
      case BOOL -> random.nextBoolean();
      case STRING -> "né".repeat(random.nextInt(3)) + random.nextInt(5);
      case ADDRESS ->
          random.nextBoolean() ? new byte[] {10, 0, 0, (byte) random.nextInt(3)} : new byte[16];
      default -> centre + offset;
    };
  }
}
