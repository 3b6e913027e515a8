// The page's end of a call: microphone and loudspeaker in the audio thread, one socket, and two clocks made one.
// It draws nothing; whoever does listens to its events: `state`, `row`, `level`, `sounded`, `network`, `over`.

const RATE = 16000;
const FRAME = 320;
const VERSION = 1;
const LATEST = 1500;                   // frames of 20 ms
const SHORT = 50;                      // frames that say how the audio clock runs
const STALL_MS = 30;                  // less than the ledger and the page may differ by
const DRIFT = 5000;                    // an audio clock runs slow by one part in so many at worst, as the server takes it
const ASKS = [0, 60, 120, 250, 500];   // ms after opening at which the time is asked for, and then
const ASK_MS = 2000;                   // so often
const KEPT = 30;                       // answers of which the quickest is believed
const LOST = 2;                        // asked so often without an answer, the socket is dead and does not know it
const RETRY_MS = [150, 400, 800, 1200, 1600];

/** A reason that a person can act on. */
export class Trouble extends Error {}

/** What the server's clock reads, by the quickest of its latest answers. */
class ServerClock {
  constructor() { this.answers = []; this.asked = new Map(); this.next = 0; }

  ask() {
    const id = ++this.next;
    this.asked.set(id, performance.now());
    if (this.asked.size > KEPT) this.asked.delete(this.asked.keys().next().value);
    return { event: "ping", id };
  }

  answer(id, us) {
    const began = this.asked.get(id), now = performance.now();
    if (began === undefined) return;
    for (const older of this.asked.keys()) if (older <= id) this.asked.delete(older);
    this.answers = [...this.answers.slice(1 - KEPT), { tripMs: now - began, offsetUs: us - 500 * (began + now) }];
    this.best = this.answers.reduce((best, one) => (one.tripMs < best.tripMs ? one : best));
  }

  get unanswered() { return this.asked.size; }

  /** The server's µs at a moment of ours (ms); null until it has answered. */
  at(ms) { return this.best ? Math.round(ms * 1000 + this.best.offsetUs) : null; }
}

export class Line extends EventTarget {
  constructor(token, path) {
    super();
    this.token = token;
    this.path = path;
    this.clock = new ServerClock();
    this.captured = [];    // [place, ms] of the latest frames heard, to tell when a sample was captured
    this.early = [];       // the page's clock less the audio clock, as the latest frames came
    this.key = "";
    this.ended = false;
    this.timers = [];
  }

  say(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  // ---- sound ----

  async open() {
    this.stream = await microphone();
    this.context = new AudioContext({ latencyHint: "interactive" });
    await this.context.audioWorklet.addModule("page/talk-worklet.js");
    this.node = new AudioWorkletNode(this.context, "line", {
      numberOfInputs: 1, numberOfOutputs: 1, outputChannelCount: [1], channelCount: 1, channelCountMode: "explicit",
    });
    this.node.port.onmessage = ({ data }) => this.fromAudio(data);
    this.node.connect(this.context.destination);
    this.context.onstatechange = () => this.slept();
    await this.context.resume();
    this.plug(this.stream);
    this.connect();
  }

  plug(stream) {
    this.source?.disconnect();
    this.source = this.context.createMediaStreamSource(stream);
    this.source.connect(this.node);
    for (const track of stream.getAudioTracks()) track.onended = () => this.unplugged();
  }

  /** The microphone is gone: another one will do; without one there is no call. */
  async unplugged() {
    if (this.ended) return;
    try {
      this.stream = await microphone();
      this.plug(this.stream);
    } catch {
      this.hangUp("The microphone was unplugged and there is no other. Plug one in and talk again.");
    }
  }

  /** The audio was stopped from outside (a sleeping tab, a telephone call) or goes on. */
  slept() {
    if (this.ended || !this.began) return;
    if (this.context.state === "running") {
      const missedMs = this.asleep ? performance.now() - this.sleptAt : 0;
      [this.sleptAt, this.early, this.base] = [undefined, [], undefined];
      this.node.port.postMessage({ open: true, skip: Math.round((missedMs * RATE) / 1000 / FRAME) * FRAME });
      this.send({ event: "hold", on: false });
      this.say("asleep", false);
    } else if (!this.asleep) {
      this.sleptAt = performance.now();
      this.node.port.postMessage({ open: false });
      this.send({ event: "hold", on: true });
      this.say("asleep", true);
      this.context.resume().catch(() => {});
    }
  }

  get asleep() { return this.sleptAt !== undefined; }

  wake() {
    if (!this.ended && this.context?.state !== "running") this.context?.resume().catch(() => {});
  }

  fromAudio(told) {
    if (told.heard) {
      this.capture(told.at, (told.frame / this.context.sampleRate) * 1000);
      if (this.socket?.readyState === WebSocket.OPEN && this.began) this.socket.send(told.heard);
      this.say("level", told.level);
    } else if (told.played) {
      this.send({ event: "mark", name: told.played, at_us: this.clock.at(this.soundsAt(told.frame)) });
    } else if (told.cleared) {
      for (const name of told.cleared) this.send({ event: "mark", name, cleared: true });
    } else if (told.sounded) {
      const at = this.soundsAt(told.frame);
      this.say("sounded", { ms: at, us: this.clock.at(at) });
    } else if (told.held !== undefined) {
      this.say("network", { heldMs: told.held * 1000, tripMs: this.clock.best?.tripMs });
    }
  }

  /** When the context's `frame` leaves the loudspeaker, in ms of the page's own time. */
  soundsAt(frame) {
    const seconds = frame / this.context.sampleRate;
    const { contextTime, performanceTime } = this.context.getOutputTimestamp();
    const told = performanceTime + (seconds - contextTime) * 1000;
    const plain = performance.now() + (seconds - this.context.currentTime + this.latency()) * 1000;
    return contextTime > 0 && Math.abs(told - plain) < 250 ? told : plain;
  }

  latency() { return this.context.outputLatency || this.context.baseLatency || 0; }

  /** Note when a frame was captured, by the page's clock: of the latest frames the least delayed says how it runs. */
  capture(at, audioMs) {
    this.early = [...this.early.slice(1 - SHORT), performance.now() - audioMs - (FRAME / RATE) * 1000];
    const least = Math.min(...this.early);
    this.captured.push([at, audioMs + least]);
    if (this.captured.length > 2 * LATEST) this.captured.splice(0, LATEST);
    if (this.early.length < SHORT) return;
    this.base = Math.min(least, (this.base ?? least) + (1000 * FRAME) / RATE / DRIFT);
    if (least - this.base < STALL_MS) return;
    // The sound device stood still: what nobody heard meanwhile has passed all the same.
    this.node.port.postMessage({ open: true, skip: Math.round(((least - this.base) * RATE) / 1000) });
    this.base = least;
  }

  /** From the capture of our sample `at` to a moment of the page's clock, in µs; null if it is not known. */
  since(at, ms) {
    const found = this.captured.findLast(([place]) => place <= at);
    return found ? Math.round((ms - found[1] - ((at - found[0]) * 1000) / RATE) * 1000) : null;
  }

  // ---- the socket ----

  connect() {
    const socket = new WebSocket(new URL(this.path, location.href.replace(/^http/, "ws")));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.send({
      event: "hello", version: VERSION, rate: RATE, frame: FRAME,
      ...(this.key ? { resume: this.key } : { token: this.token }),
    });
    socket.onmessage = ({ data }) => { if (socket === this.socket) this.take(data); };
    socket.onclose = () => { if (socket === this.socket) this.dropped(); };
    this.socket = socket;
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  take(data) {
    if (typeof data !== "string") {
      this.node.port.postMessage({ sound: data }, [data]);
      return;
    }
    const told = JSON.parse(data);
    switch (told.event) {
      case "welcome": this.welcome(told); break;
      case "pong": this.clock.answer(told.id, told.us); break;
      case "reply": this.node.port.postMessage({ reply: told.reply }); break;
      case "mark": this.node.port.postMessage({ mark: told.name }); break;
      case "end": this.node.port.postMessage({ end: true }); break;
      case "clear": this.node.port.postMessage({ clear: true }); break;
      case "state": case "row": this.say(told.event, told); break;
      case "elsewhere": this.tries = 0; break;   // the next socket may reach the worker that has our call
      case "refused": this.finish({ refused: true, because: told.because }); break;
      case "over": this.finish({ because: told.because }); break;
    }
  }

  welcome({ key, resume_ms: resumeMs }) {
    [this.key, this.resumeMs] = [key, resumeMs];
    this.tries = 0;
    this.stopAsking();
    clearTimeout(this.deadline);
    this.deadline = undefined;
    this.clock.asked.clear();
    const ask = () => this.send(this.clock.ask());
    const keepAsking = () => (this.clock.unanswered < LOST ? ask() : this.dropped());
    this.timers = [...ASKS.map((ms) => setTimeout(ask, ms)), setInterval(keepAsking, ASK_MS)];
    this.began = true;
    this.say("connected", null);
    if (this.asleep) this.send({ event: "hold", on: true });
    else this.node.port.postMessage({ open: true });
  }

  /** The socket is gone: the call waits a few seconds for us. */
  dropped() {
    this.stopAsking();
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    if (this.ended) return;
    if (this.because) {
      this.finish({ because: this.because });
      return;
    }
    if (!this.key) {
      this.finish({ refused: true, because: "the server could not be reached" });
      return;
    }
    if (this.deadline === undefined) {
      const lost = () => this.finish({ because: "the connection was lost and did not come back" });
      this.deadline = setTimeout(lost, this.resumeMs);
      this.node.port.postMessage({ clear: true });
      this.say("reconnecting", null);
    }
    this.timers = [setTimeout(() => this.connect(), RETRY_MS[Math.min(this.tries++, RETRY_MS.length - 1)])];
  }

  stopAsking() {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers = [];
  }

  // ---- the end ----

  hangUp(because = "you hung up") {
    this.because = because;
    if (this.socket?.readyState !== WebSocket.OPEN) {
      this.finish({ because });
      return;
    }
    this.send({ event: "hangup" });
    // The server says `over` behind its last row; if it does not, we are done all the same.
    this.timers.push(setTimeout(() => this.finish({ because }), 1500));
  }

  finish(end) {
    if (this.ended) return;
    this.ended = true;
    this.stopAsking();
    clearTimeout(this.deadline);
    this.stream?.getTracks().forEach((track) => { track.onended = null; track.stop(); });
    this.socket?.close();
    this.context?.close().catch(() => {});
    this.say("over", { ...end, because: this.because || end.because });
  }
}

/** The microphone, echo cancelled; or in one line why there is none. */
async function microphone() {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Trouble("Browsers give the microphone only to pages at https:// or on localhost.");
  }
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 };
  try {
    return await navigator.mediaDevices.getUserMedia({ audio });
  } catch (error) {
    throw new Trouble({
      NotAllowedError: "The microphone is not allowed here. Allow it beside the address, then press Talk again.",
      NotFoundError: "There is no microphone. Plug one in, then press Talk again.",
      NotReadableError: "The microphone is used by another program. Close that, then press Talk again.",
    }[error.name] || `The microphone cannot be used (${error.message || error.name}).`);
  }
}
