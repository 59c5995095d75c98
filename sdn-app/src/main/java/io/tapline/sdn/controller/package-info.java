/** The controller: tracks the state of a network and keeps its switches as they should be. */
package io.tapline.sdn.controller;
