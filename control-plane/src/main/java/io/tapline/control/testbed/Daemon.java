package io.tapline.control.testbed;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * A program that is kept running.
 *
 * @param command that starts it
 * @param pidFile of one that detaches: its command returns once it is ready; else the command is it
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record Daemon(String name, List<String> command, @JsonProperty("pid_file") String pidFile) {}
