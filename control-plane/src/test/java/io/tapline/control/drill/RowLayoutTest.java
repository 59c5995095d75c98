package io.tapline.control.drill;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class RowLayoutTest {
  private static final String SCHEMA =
      """
      time time 8 1
      flow u64 8 1
      path u32 4 3 optional
      hop_ns u64 8 3 optional
      hops u8 1 1 optional
      """;

  private static ByteBuffer row(int present) {
    return ByteBuffer.allocate(54)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putLong(5)
        .putLong(0xabcL)
        .putInt(7)
        .putInt(-1)
        .putInt(0)
        .putLong(1_000)
        .putLong(2_000)
        .putLong(0)
        .put((byte) 2)
        .put((byte) present);
  }

  @Test
  void trailingZerosOfListsAreOmitted() {
    assertThat(new RowLayout(SCHEMA).json(row(7), 0).toString())
        .isEqualTo(
            """
            {"time_ns":5,"flow":"0000000000000abc","path":[7,4294967295],\
            "hop_ns":[1000,2000],"hops":2}""");
  }

  @Test
  void namesOfTapsAreStrings() {
    byte[] row = {'s', 'w', '1', 0, 'a', 0, 0, 1};
    assertThat(
            new RowLayout("switch bytes 4 1\nport bytes 2 1\nside bytes 1 1\ntag bytes 1 1")
                .json(ByteBuffer.wrap(row), 0)
                .toString())
        .isEqualTo("{\"switch\":\"sw1\",\"port\":\"a\",\"side\":\"\",\"tag\":\"01\"}");
    assertThat(TapNames.ofGroup("switch", "73773100")).isEqualTo("sw1");
    assertThat(TapNames.ofGroup("dst_port", "80")).isEqualTo("80");
  }

  @Test
  void anIpv4MappedAddressStaysIpv6() {
    byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 0, 2, 5};
    assertThat(new RowLayout("src_ip6 ipv6 16 1").json(ByteBuffer.wrap(mapped), 0).toString())
        .isEqualTo("{\"src_ip6\":\"0:0:0:0:0:ffff:a00:205\"}");
  }

  @Test
  void missingValuesOfARowAreOmitted() {
    assertThat(new RowLayout(SCHEMA).json(row(0), 0).toString())
        .isEqualTo("{\"time_ns\":5,\"flow\":\"0000000000000abc\"}");
  }
}
