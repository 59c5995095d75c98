package io.tapline.flink.results;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AddressKindTest {
  @ParameterizedTest
  @CsvSource({
    "93.184.216.34, PUBLIC",
    "9.255.255.255, PUBLIC",
    "11.0.0.0, PUBLIC",
    "172.15.255.255, PUBLIC",
    "172.32.0.0, PUBLIC",
    "100.63.255.255, PUBLIC",
    "100.128.0.0, PUBLIC",
    "169.253.255.255, PUBLIC",
    "223.255.255.255, PUBLIC",
    "2606:2800:220:1::1, PUBLIC",
    "10.0.0.0, PRIVATE",
    "10.255.255.255, PRIVATE",
    "172.16.0.1, PRIVATE",
    "172.31.255.255, PRIVATE",
    "192.168.1.1, PRIVATE",
    "100.64.0.1, PRIVATE",
    "100.127.255.255, PRIVATE",
    "fc00::1, PRIVATE",
    "fdff::1, PRIVATE",
    "fec0::1, PRIVATE",
    "64:ff9b:1::1, PRIVATE",
    "127.0.0.1, LOOPBACK",
    "127.255.255.254, LOOPBACK",
    "::1, LOOPBACK",
    "169.254.169.254, LINK_LOCAL",
    "fe80::1, LINK_LOCAL",
    "febf::1, LINK_LOCAL",
    "0.0.0.0, NO_HOST",
    "0.1.2.3, NO_HOST",
    "224.0.0.1, NO_HOST",
    "239.255.255.255, NO_HOST",
    "255.255.255.255, NO_HOST",
    "::, NO_HOST",
    "ff02::1, NO_HOST",
    "2001:0:a9fe:a9fe::1, NO_HOST",
    "64:ff9b::93.184.216.34, PUBLIC",
    "64:ff9b::169.254.169.254, LINK_LOCAL",
    "64:ff9b::10.0.0.1, PRIVATE",
    "64:ff9b::127.0.0.1, LOOPBACK",
    "::ffff:10.0.0.1, PRIVATE",
    "::ffff:0:127.0.0.1, LOOPBACK",
    "::127.0.0.1, LOOPBACK",
    "2002:a9fe:a9fe::1, LINK_LOCAL",
    "2002:5db8:d822::1, PUBLIC",
  })
  void classifiesByRegistryAndByTranslatedAddress(String address, AddressKind kind)
      throws Exception {
    assertThat(AddressKind.of(InetAddress.getByName(address))).isEqualTo(kind);
  }

  /** Tests IPv4 addresses in 16 bytes, which a name server may return. */
  @Test
  void mappedAddressesAreThoseOfIpv4() throws Exception {
    byte[] mapped = new byte[16];
    mapped[10] = (byte) 0xff;
    mapped[11] = (byte) 0xff;
    mapped[12] = 127;
    mapped[15] = 1;
    assertThat(AddressKind.of(InetAddress.getByAddress("host", mapped)))
        .isEqualTo(AddressKind.LOOPBACK);
  }
}
