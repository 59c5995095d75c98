package io.tapline.schema;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.tapline.schema.proto.Column;
import io.tapline.schema.proto.Plan;
import io.tapline.schema.proto.TupleBatch;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the golden samples have the same meaning in Java as in C++ (golden_test.cc). */
class GoldenTest {
  private static final Path GOLDEN = Path.of("golden");
  private static final ObjectMapper MAPPER = new ObjectMapper();

  @Test
  void tuplesContainTheRowsOfTheJsonFile() throws IOException {
    TupleBatch batch = TupleBatch.parseFrom(Files.readAllBytes(GOLDEN.resolve("tuples.batch")));
    List<String> lines = Files.readAllLines(GOLDEN.resolve("tuples.rows.jsonl"));
    assertThat(batch.getRows()).isEqualTo(lines.size());
    for (int row = 0; row < lines.size(); row++) {
      ObjectNode decoded = MAPPER.createObjectNode();
      for (Column column : batch.getColumnsList()) {
        decoded.set(column.getName(), valueAt(column, row));
      }
      assertThat(MAPPER.readTree(decoded.toString())).isEqualTo(MAPPER.readTree(lines.get(row)));
    }
  }

  private static boolean isPresent(Column column, int row) {
    return column.getPresent().isEmpty()
        || (column.getPresent().byteAt(row / 8) >> row % 8 & 1) != 0;
  }

  private static JsonNode valueAt(Column column, int row) throws IOException {
    if (!isPresent(column, row)) {
      return MAPPER.nullNode();
    }
    long number = numberAt(column, row);
    return switch (column.getType()) {
      case I64 -> MAPPER.valueToTree(number);
      case F64 -> MAPPER.valueToTree(Double.longBitsToDouble(number));
      case BOOL -> MAPPER.valueToTree(number != 0);
      case STRING ->
          MAPPER.valueToTree(new String(entryAt(column, number), StandardCharsets.UTF_8));
      case ADDRESS -> MAPPER.valueToTree(addressText(entryAt(column, number)));
      default ->
          column.getName().equals("flow_hash")
              ? MAPPER.valueToTree(String.format("%016x", number))
              : MAPPER.valueToTree(new BigInteger(Long.toUnsignedString(number)));
    };
  }

  private static long numberAt(Column column, int row) {
    ByteBuffer data = column.getData().asReadOnlyByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    long raw =
        switch (column.getWidth()) {
          case 1 -> Byte.toUnsignedLong(data.get(row));
          case 2 -> Short.toUnsignedLong(data.getShort(2 * row));
          case 4 -> Integer.toUnsignedLong(data.getInt(4 * row));
          default -> data.getLong(8 * row);
        };
    return column.getBase() + raw;
  }

  private static byte[] entryAt(Column column, long entry) {
    int index = Math.toIntExact(entry);
    int begin = index == 0 ? 0 : column.getDictionaryEnd(index - 1);
    return column.getDictionary().substring(begin, column.getDictionaryEnd(index)).toByteArray();
  }

  /**
   * Returns an address as text, IPv6 as in RFC 5952. Only correct for the two IPv6 addresses in the
   * sample.
   */
  private static String addressText(byte[] bytes) throws IOException {
    return InetAddress.getByAddress(bytes).getHostAddress().replaceFirst("(:0)+:", "::");
  }

  @ParameterizedTest
  @ValueSource(strings = {"tuples.batch", "heartbeat.batch", "end_of_stream.batch"})
  void batchIsReencodedToTheSameBytes(String name) throws IOException {
    byte[] bytes = Files.readAllBytes(GOLDEN.resolve(name));
    TupleBatch batch = TupleBatch.parseFrom(bytes);
    assertThat(batch.getUnknownFields().asMap()).isEmpty();
    assertThat(batch.toByteArray()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"top_k.plan.json", "diff_group.plan.json"})
  void planIsReencodedToTheSameJson(String name) throws IOException {
    String text = Files.readString(GOLDEN.resolve(name));
    String printed = JsonFormat.printer().preservingProtoFieldNames().print(parse(text));
    assertThat(MAPPER.readTree(printed)).isEqualTo(MAPPER.readTree(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"top_k.plan.json", "diff_group.plan.json"})
  void planFitsTheJsonSchemaAndAnUnknownFieldDoesNot(String name) throws IOException {
    JsonSchema schema =
        JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
            .getSchema(Files.readString(Path.of("plan.schema.json")));
    ObjectNode plan = (ObjectNode) MAPPER.readTree(Files.readString(GOLDEN.resolve(name)));
    assertThat(schema.validate(plan)).isEmpty();

    plan.put("no_such_field", 1);
    assertThat(schema.validate(plan)).isNotEmpty();
    assertThatThrownBy(() -> parse(plan.toString()))
        .isInstanceOf(InvalidProtocolBufferException.class);
  }

  private static Plan parse(String json) throws InvalidProtocolBufferException {
    Plan.Builder plan = Plan.newBuilder();
    JsonFormat.parser().merge(json, plan);
    return plan.build();
  }
}
