package io.tapline.compiler.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.tapline.compiler.CompileResult;
import io.tapline.compiler.Compiler;
import io.tapline.compiler.Fixtures;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CatalogueTest {
  @Test
  void readsDeclarationsOfParsers() {
    ParserInfo http = Fixtures.CATALOGUE.parser("http_get").orElseThrow();
    assertThat(http.layer()).isEqualTo(ParserInfo.Layer.APPLICATION);
    assertThat(http.mainFields()).containsExactly("url");
    assertThat(http.valueField()).contains("response_bytes");
    assertThat(http.duration()).contains(new ParserInfo.DurationField("response_time_ns"));
    FieldInfo bytes = http.field("response_bytes").orElseThrow();
    assertThat(bytes)
        .isEqualTo(
            new FieldInfo("response_bytes", FieldInfo.Type.U64, "bytes", "", true, false, false));
    assertThat(http.field("response_time_ns").orElseThrow().optional()).isTrue();
    assertThat(http.knowsAnswers()).isTrue();
    assertThat(http.intervalNs()).isZero();
    assertThat(http.field("src_ip").orElseThrow().common()).isTrue();

    ParserInfo times = Fixtures.CATALOGUE.parser("tcp_conn_time").orElseThrow();
    assertThat(times.valueField()).isEmpty();
    assertThat(times.duration())
        .contains(new ParserInfo.DurationEvents("event", List.of("syn"), List.of("fin", "rst")));
    ParserInfo sizes = Fixtures.CATALOGUE.parser("tcp_pkt_size").orElseThrow();
    assertThat(sizes.duration()).isEmpty();
    assertThat(sizes.knowsAnswers()).isFalse();
    assertThat(sizes.intervalNs()).isEqualTo(1_000_000_000);
  }

  @Test
  void resolvesAllSpellings() {
    for (String name : List.of("mysql", "MySQL", "mysql-query", "MYSQL_QUERY")) {
      assertThat(Fixtures.CATALOGUE.parser(name).map(ParserInfo::name)).contains("mysql_query");
    }
    assertThat(Fixtures.CATALOGUE.parser("my_sql")).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "get, url",
    "destIP, dst_ip",
    "srcIP, src_ip",
    "DESTIP, dst_ip",
    "destPort, dst_port",
    "srcPort, src_port",
    "dst-ip, dst_ip"
  })
  void knowsTheSpellingsOfThePaper(String word, String field) {
    ParserInfo http = Fixtures.CATALOGUE.parser("http_get").orElseThrow();
    assertThat(Catalogue.field(http, word).map(FieldInfo::name)).isEqualTo(Optional.of(field));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{ | parser catalogue: it is not JSON:",
        "{} | parser catalogue: no list \"parsers\"",
        "{\"parsers\":[]} | parser catalogue: no list \"parsers\"",
        "{\"parsers\":[{}]} | parser catalogue, parser 1: \"name\" must be a string",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"link\"}]} | parser catalogue, parser x: unknown layer \"link\"",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\"}]} | parser catalogue, parser x: \"main_fields\" must be a list",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[\"a\"]}]}"
            + " | parser catalogue, parser x: no field a, to which the parser refers",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[],\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}]}"
            + " | parser catalogue, parser x, field a: unknown type \"int\"",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[\"a\"],\"value_field\":\"a\","
            + "\"fields\":[{\"name\":\"a\",\"type\":\"bool\"}]}]} | parser catalogue, parser x: value_field is not numeric",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[],\"interval_ns\":-1,\"fields\":[]}]}"
            + " | parser catalogue, parser x: interval_ns is negative",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[],\"interval_argument\":\"every\",\"fields\":[]}]}"
            + " | parser catalogue, parser x: interval_argument every is not a duration above 0",
        "{\"parsers\":[{\"name\":\"x\",\"layer\":\"network\",\"main_fields\":[],\"fields\":[],\"arguments\":["
            + "{\"name\":\"n\",\"type\":\"u64\",\"default\":\"0\",\"step\":0}]}]}"
            + " | parser catalogue, parser x, argument n: step is not positive",
      })
  void refusesInvalidCatalogues(String json, String message) {
    assertThatThrownBy(() -> Catalogue.fromJson(json))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith(message);
  }

  @Test
  void aParserWithoutMainFieldsNeedsAKey() {
    Catalogue catalogue =
        Catalogue.fromJson(
            """
            {"parsers":[{"name":"flags","layer":"network","main_fields":[],"value_field":null,"duration":null,
             "fields":[{"name":"flag","type":"string"}]}]}
            """);
    String text = "PARSE flags TO h1 PROCESS (top-k)";
    CompileResult result = Compiler.compile(text, catalogue, Fixtures.INVENTORY, Fixtures.OPTIONS);
    assertThat(result.errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message())
                  .isEqualTo("flags has no main fields, so key= is required");
              assertThat(error.expected()).isEqualTo("key= with one of flag");
            });
    String keyed = text.replace("top-k", "top-k: key=flag");
    assertThat(Compiler.compile(keyed, catalogue, Fixtures.INVENTORY, Fixtures.OPTIONS).errors())
        .isEmpty();
  }
}
