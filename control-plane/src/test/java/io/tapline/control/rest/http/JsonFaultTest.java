package io.tapline.control.rest.http;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonFaultTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"query\":              | 1:10 | a value | the end of the text",
        "{\"query\": nul}         | 1:11 | a value | 'nul'",
        "{'query': 1}             | 1:2  | a name in double quotes or '}' | '''",
        "{\"a\": 1,}              | 1:9  | another name in double quotes | '}'",
        "{\"a\" 1}                | 1:6  | ':' | '1'",
        "{\"a\": 1 \"b\": 2}      | 1:9  | ',' or '}' | '\"'",
        "[1, 2                    | 1:6  | ',' or ']' | the end of the text",
        "[1,]                     | 1:4  | another value | ']'",
        "[01]                     | 1:2  | a number such as 12, -0.5 or 1e9 | '01'",
        "{\"a\": \"b             | 1:9  | '\"' at the string's end | the end of the text",
        "{\"a\": 1} x             | 1:10 | nothing more | 'x'",
        "{\"a\": 1, \"a\": 2}     | 1:10 | each name once in an object | '\"'",
      })
  void namesThePlaceAndTheExpectedSyntax(String text, String place, String expected, String found) {
    JsonFault fault = JsonFault.find(text).orElseThrow();
    assertThat(fault.line() + ":" + fault.column()).isEqualTo(place);
    assertThat(fault.expected()).isEqualTo(expected);
    assertThat(fault.found()).isEqualTo(found);
  }

  @Test
  void countsLinesAndCharacters() {
    assertThat(JsonFault.find("{\n  \"größe\": \"😀\" x}"))
        .contains(new JsonFault(2, 16, "',' or '}'", "'x'"));
    assertThat(JsonFault.find("{\"a\": \"b\n\"}").orElseThrow().column()).isEqualTo(9);
    assertThat(JsonFault.find("{\"a\": \"\\x\"}").orElseThrow().expected())
        .startsWith("\\\", \\\\");
  }

  /** Tests that exactly the strings that the parser rejects have a fault. */
  @Test
  void agreesWithTheParser() {
    String seed =
        "{\"a\": [1, -0.5e+9, true, null, {}], \"b\": {\"c\": \"x\\u00e4\\n\"}, \"d\": []}";
    String letters = "{}[]\",:\\ 0123-.eEtrufalsn\nab";
    Random random = new Random(1);
    for (int i = 0; i < 20_000; i++) {
      StringBuilder text = new StringBuilder(seed);
      for (int change = random.nextInt(4); change > 0; change--) {
        int position = random.nextInt(text.length());
        text.setCharAt(position, letters.charAt(random.nextInt(letters.length())));
      }
      assertThat(JsonFault.find(text.toString()).isEmpty())
          .as("%s", text)
          .isEqualTo(isParsed(text));
    }
  }

  private static boolean isParsed(CharSequence text) {
    try {
      Json.parse(text.toString());
      return true;
    } catch (JsonProcessingException e) {
      return false;
    }
  }

  @Test
  void depthIsBounded() {
    String deep = "[".repeat(JsonFault.MAX_LEVELS + 1);
    assertThat(JsonFault.find(deep).orElseThrow().expected())
        .isEqualTo("at most 1,000 levels of objects and arrays");
  }
}
