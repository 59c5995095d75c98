package io.tapline.control;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TapTest {
  @ParameterizedTest
  @CsvSource({
    "sw1=mon0, mon0, false",
    "sw1:2:arrivals=mon0.7, mon0.7, false",
    "sw1=a.pcap, a.pcap, true",
    "sw1=a.pcapng#eth0, a.pcapng#eth0, true",
    "sw1=a.pcap.zst, a.pcap.zst, true",
    "sw1=a.cap, a.cap, true",
    "sw1=./a, ./a, true",
    "sw1=a=b, a=b, false"
  })
  void namesAnInterfaceOrAFile(String text, String source, boolean file) {
    Tap tap = new Tap(text);
    assertEquals(source, tap.source());
    assertEquals(file, tap.file());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sw1", "sw1=", "=mon0", ""})
  void aTapWithoutASwitchOrASourceIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> new Tap(text));
  }
}
