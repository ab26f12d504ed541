// The terminal of xterm.js on a websocket of the controller: binary frames carry bytes, text frames its size and how it ended.
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { consoleAddress } from '../../data/api.ts';
import { endingOf, type Ending } from './ending.ts';

export type ConsoleState = 'connecting' | 'open' | 'closed';

export interface TerminalOptions {
  readonly element: HTMLElement;
  readonly host: string;
  readonly name: string;
  readonly project: string | undefined;
  /** Absent: the console of the container. */
  readonly command?: string;
  readonly onState: (state: ConsoleState) => void;
  readonly onEnding: (ending: Ending) => void;
}

export function openTerminal(options: TerminalOptions): () => void {
  const { element, host, name, project, command, onState, onEnding } = options;
  const terminal = new Terminal({
    cursorBlink: true,
    fontSize: 13,
    fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
    screenReaderMode: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withoutInlineStyle(() => terminal.open(element));
  fit.fit();
  terminal.focus();
  // Tab is a key of the shell: without another one the keyboard could not leave.
  terminal.attachCustomKeyEventHandler(({ type, key, ctrlKey }) => {
    if (type !== 'keydown' || key !== 'F6' || !ctrlKey) return true;
    terminal.blur();
    return false;
  });

  const size = () => ({ width: terminal.cols, height: terminal.rows });
  const socket = new WebSocket(consoleAddress({ host, name, project }, size(), command));
  socket.binaryType = 'arraybuffer';
  const encoder = new TextEncoder();
  let wasOpen = false;
  let lastText = '';
  let isLeft = false;
  socket.addEventListener('open', () => {
    wasOpen = true;
    onState('open');
  });
  socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
    if (typeof data === 'string') lastText = data;
    else terminal.write(new Uint8Array(data));
  });
  socket.addEventListener('close', ({ code, reason }) => {
    if (isLeft) return;
    onState('closed');
    onEnding(endingOf({ lastText, code, reason, wasOpen }));
  });
  const send = (data: string | Uint8Array<ArrayBuffer>): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(data);
  };
  terminal.onData((text) => send(encoder.encode(text)));
  terminal.onBinary((text) => send(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => send(JSON.stringify({ width: cols, height: rows })));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(element);
  return () => {
    isLeft = true;
    observer.disconnect();
    socket.close();
    terminal.dispose();
  };
}

/** Runs `open`; each <style> element that it creates becomes an adopted style sheet. */
function withoutInlineStyle(open: () => void): void {
  const original = document.createElement.bind(document);
  const createElement = (tag: string, options?: ElementCreationOptions): HTMLElement =>
    tag.toLowerCase() === 'style' ? styleStandIn(original('template')) : original(tag, options);
  Object.defineProperty(document, 'createElement', { value: createElement, configurable: true });
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

function styleStandIn(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const take = (text: string | null): void => sheet.replaceSync(text ?? '');
  Object.defineProperty(element, 'textContent', { set: take });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
  return element;
}
