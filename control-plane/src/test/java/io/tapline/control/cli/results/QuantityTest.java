package io.tapline.control.cli.results;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.DoubleNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuantityTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ns      | 999999      | mean µs   | 999.999",
        "ns      | 1000000     | mean ms   | 1.000",
        "ns      | 99000000000 | mean ms   | 99,000.000",
        "ns      | 1e11        | mean s    | 100.000",
        "bytes   | 9999        | mean bytes| 9,999",
        "bytes   | 10000       | mean kB   | 10.000",
        "bytes   | 12345678    | mean MB   | 12.346",
        "bytes   | 2.5e10      | mean GB   | 25.000",
        "count   | 1234567     | mean      | 1,234,567",
        "packets | 3           | mean packets | 3",
        "''      | 0.5         | mean      | 0.500"
      })
  void aTablesUnitSuitsItsLargestNumber(String unit, double largest, String header, String text) {
    Quantity quantity = Quantity.of(unit, largest);
    assertThat(quantity.header("mean")).isEqualTo(header);
    assertThat(quantity.text(DoubleNode.valueOf(largest))).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "ns,5e6,max response_time_ns,max response_time ms",
    "bytes,5e7,sum bytes,sum MB",
    "bytes,5,sum bytes,sum bytes",
    "packets,5,sum packets,sum packets"
  })
  void aHeaderNamesItsUnitOnce(String unit, double largest, String name, String header) {
    assertThat(Quantity.of(unit, largest).header(name)).isEqualTo(header);
  }

  @org.junit.jupiter.api.Test
  void noNumberIsADash() {
    assertThat(Quantity.of("ns", 1).text(MissingNode.getInstance())).isEqualTo("-");
  }
}
