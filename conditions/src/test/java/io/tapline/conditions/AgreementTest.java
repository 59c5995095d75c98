package io.tapline.conditions;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.ConditionTree;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/**
 * Tests that 10,000 generated conditions select the rows in the golden file, which
 * agreement_test.cc describes and compares with C++. -Dgolden.update=true rewrites the file.
 */
class AgreementTest {
  private static final Path GOLDEN = Path.of("golden/conditions.bin");
  private static final int CONDITIONS = 10_000;
  private static final int ROWS = 64;
  private static final List<Column.Type> TYPES =
      List.of(
          Column.Type.U64,
          Column.Type.I64,
          Column.Type.F64,
          Column.Type.BOOL,
          Column.Type.STRING,
          Column.Type.ADDRESS);

  /** A row's values by field, without absent ones. */
  private record Values(Map<String, Object> values) {
    ConditionProgram.Row of(List<String> fields) {
      return new ConditionProgram.Row() {
        @Override
        public boolean isPresent(int field) {
          return values.containsKey(fields.get(field));
        }

        @Override
        public long bits(int field) {
          return (long) values.get(fields.get(field));
        }

        @Override
        public byte[] bytes(int field) {
          return (byte[]) values.get(fields.get(field));
        }
      };
    }
  }

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  @Test
  void theGoldenFileIsUpToDate() throws Exception {
    Generator generator = new Generator(24);
    out.writeBytes("TLCOND1\n".getBytes(StandardCharsets.UTF_8));
    number(Generator.FIELDS.size());
    Generator.FIELDS.forEach(
        (name, type) -> {
          out.write(TYPES.indexOf(type));
          bytes(name.getBytes(StandardCharsets.UTF_8));
        });
    List<Values> rows = rows(generator);
    number(CONDITIONS);
    int selects = 0;
    for (int i = 0; i < CONDITIONS; i++) {
      ConditionTree tree = generator.tree();
      ConditionProgram program =
          ConditionProgram.compile(tree, name -> Optional.ofNullable(Generator.FIELDS.get(name)));
      long selected = selected(program, rows);
      assertThat(byColumns(program, rows)).as(Trees.text(tree)).isEqualTo(selected);
      bytes(tree.toByteArray());
      out.writeBytes(little(Long.BYTES).putLong(selected).array());
      selects += selected != 0 && selected != -1 ? 1 : 0;
    }
    // Conditions that select all rows or none would test little.
    assertThat(selects).isGreaterThan(CONDITIONS / 2);
    if (Boolean.getBoolean("golden.update")) {
      Files.createDirectories(GOLDEN.getParent());
      Files.write(GOLDEN, out.toByteArray());
    }
    assertThat(Files.readAllBytes(GOLDEN)).isEqualTo(out.toByteArray());
  }

  private List<Values> rows(Generator generator) throws Exception {
    number(ROWS);
    List<Values> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      Map<String, Object> values = new HashMap<>();
      for (Map.Entry<String, Column.Type> field : Generator.FIELDS.entrySet()) {
        boolean isPresent = !generator.chance(4);
        out.write(isPresent ? 1 : 0);
        if (isPresent) {
          values.put(field.getKey(), value(generator, field.getValue()));
        }
      }
      rows.add(new Values(values));
    }
    return rows;
  }

  private Object value(Generator generator, Column.Type type) throws Exception {
    String word = generator.word(type);
    if (type == Column.Type.STRING) {
      byte[] text = word.getBytes(StandardCharsets.UTF_8);
      bytes(text);
      return text;
    } else if (type == Column.Type.ADDRESS) {
      byte[] address = IpPrefix.parse(word).orElseThrow().address();
      bytes(address);
      return address;
    }
    Number number = Number.parse(word, 0);
    long bits =
        type != Column.Type.F64
            ? number.whole().longValue()
            : Double.doubleToRawLongBits(
                generator.chance(8) ? Double.NaN : generator.chance(8) ? -0.0 : number.asDouble());
    out.writeBytes(little(Long.BYTES).putLong(bits).array());
    return bits;
  }

  private static long selected(ConditionProgram program, List<Values> rows) {
    long selected = 0;
    for (int i = 0; i < rows.size(); i++) {
      selected |= program.matches(rows.get(i).of(program.fields())) ? 1L << i : 0;
    }
    return selected;
  }

  private static long byColumns(ConditionProgram program, List<Values> rows) {
    boolean[] matched =
        program.select(
            rows.size(),
            leaf ->
                leaf instanceof ConditionProgram.NumberLeaf numbers
                    ? holds(numbers, program, rows)
                    : holds(leaf, program, rows));
    long selected = 0;
    for (int i = 0; i < matched.length; i++) {
      selected |= matched[i] ? 1L << i : 0;
    }
    return selected;
  }

  private static boolean[] holds(
      ConditionProgram.Leaf leaf, ConditionProgram program, List<Values> rows) {
    boolean[] holds = new boolean[rows.size()];
    for (int i = 0; i < holds.length; i++) {
      holds[i] = leaf.holds(rows.get(i).of(program.fields()));
    }
    return holds;
  }

  private static boolean[] holds(
      ConditionProgram.NumberLeaf leaf, ConditionProgram program, List<Values> rows) {
    int field = leaf.fields().get(0);
    long[] bits = new long[rows.size()];
    boolean[] absent = new boolean[rows.size()];
    for (int i = 0; i < bits.length; i++) {
      ConditionProgram.Row row = rows.get(i).of(program.fields());
      absent[i] = !row.isPresent(field);
      bits[i] = absent[i] ? 0 : row.bits(field);
    }
    return leaf.holds(bits, absent);
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private void number(int value) {
    out.writeBytes(little(Integer.BYTES).putInt(value).array());
  }

  private void bytes(byte[] bytes) {
    number(bytes.length);
    out.writeBytes(bytes);
  }
}
