package io.tapline.flink.group;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.proto.Column.Type;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyTest {
  @Test
  void keysSortAsTheirFieldsDo() throws Exception {
    List<List<byte[]>> sorted =
        List.of(
            List.of(u64(0), u64(80), u64(-1)),
            List.of(i64(Long.MIN_VALUE), i64(-1), i64(0), i64(7)),
            List.of(f64(Double.NEGATIVE_INFINITY), f64(-2.5), f64(0), f64(1e-9), f64(3)),
            List.of(Key.number(Type.BOOL, 0), Key.number(Type.BOOL, 1)),
            List.of(text(""), text("/"), text("/a"), text("/a/b"), text("/b"), text("é")),
            List.of(
                address("9.9.9.9"), address("10.0.0.1"), address("10.0.0.128"), address("::1")));
    for (List<byte[]> order : sorted) {
      List<byte[]> shuffled = new ArrayList<>(order);
      Collections.shuffle(shuffled, new Random(1));
      shuffled.sort(Key::compare);
      assertThat(shuffled).containsExactlyElementsOf(order);
    }
    assertThat(Key.compare(Key.concat(text("a"), u64(9)), Key.concat(text("a"), u64(10))))
        .isNegative();
    assertThat(Key.compare(Key.concat(text("a"), text("c")), Key.concat(text("ab"), text("a"))))
        .isNegative();
  }

  @Test
  void fieldsAreDecodedUnchanged() throws Exception {
    byte[] key =
        Key.concat(
            u64(443),
            u64(-1),
            i64(-5),
            f64(-0.5),
            Key.number(Type.BOOL, 1),
            text("/é"),
            address("10.1.2.3"));
    assertThat(KeyFields.read(key))
        .containsExactly(
            443L, new BigInteger("18446744073709551615"), -5L, -0.5, true, "/é", "10.1.2.3");
    assertThat(KeyFields.read(Key.EMPTY)).isEmpty();
  }

  @Test
  void invalidUtf8StaysDistinct() {
    assertThat(KeyFields.text(new byte[] {'/', (byte) 0xff, 'a', (byte) 0xc3}))
        .isEqualTo("/\\xffa\\xc3");
    assertThat(KeyFields.text("/日本".getBytes(StandardCharsets.UTF_8))).isEqualTo("/日本");
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.1, 10.0.0.1",
    "2001:db8:0:0:0:0:0:1, 2001:db8::1",
    "0:0:0:0:0:0:0:0, ::",
    "0:0:0:0:0:0:0:1, ::1",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1",
    "2001:0:0:1:0:0:0:1, 2001:0:0:1::1",
    "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1",
    "fe80:0:0:0:0:0:0:0, fe80::"
  })
  void formatsAddressesByRfc5952(String address, String text) throws Exception {
    assertThat(KeyFields.address(InetAddress.getByName(address).getAddress())).isEqualTo(text);
  }

  @Test
  void mappedAddressesShowTheirIpv4Part() {
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = (byte) 0xff;
    mapped[12] = 10;
    mapped[15] = 1;
    assertThat(KeyFields.address(mapped)).isEqualTo("::ffff:10.0.0.1");
  }

  @Test
  void hashesAreWellDistributed() {
    Set<Long> hashes = new HashSet<>();
    int[] buckets = new int[32];
    for (int i = 0; i < 32_000; i++) {
      long hash = Key.hash(text("/page/" + i));
      hashes.add(hash);
      buckets[(int) (hash >>> 59)]++;
    }
    assertThat(hashes).hasSize(32_000);
    for (int count : buckets) {
      assertThat(count).isBetween(850, 1150);
    }
  }

  private static byte[] u64(long bits) {
    return Key.number(Type.U64, bits);
  }

  private static byte[] i64(long value) {
    return Key.number(Type.I64, value);
  }

  private static byte[] f64(double value) {
    return Key.number(Type.F64, Double.doubleToRawLongBits(value));
  }

  private static byte[] text(String text) {
    return Key.bytes(Type.STRING, text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] address(String text) throws Exception {
    return Key.bytes(Type.ADDRESS, InetAddress.getByName(text).getAddress());
  }
}
