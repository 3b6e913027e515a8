// Both ends of the line in the audio thread: the microphone as frames of 20 ms at 16 kHz, and our voice out of
// a jitter buffer. Both are counted in the context's own frames, so one clock says when either sounded.
"use strict";

const RATE = 16000;
const FRAME = 320;
const HEADER = 4;
const BLOCK = 32;             // samples of ours that are taken up at once: 2 ms
const AUDIBLE = 104 / 32768;  // −50 dBFS, as everywhere
const EDGE = 80;              // a fade of 5 ms, so that a cut does not click
const FRAME_S = 0.02;
const LEAST_S = 0.02;         // held against jitter; grows when it does not suffice
const MOST_S = 0.16;
const STEP_S = 0.01;          // by which it shrinks, a reply at a time
const SPARE_S = 0.01;

/** Windowed sinc between any two rates: output j is the input at j·from/to, exactly. */
class Resampler {
  constructor(from, to) {
    this.step = from / to;
    const cut = 0.92 * Math.min(1, to / from);
    this.half = Math.ceil(12 / cut);
    this.phases = 128;
    this.table = [];
    for (let phase = 0; phase <= this.phases; phase++) {
      const taps = new Float32Array(2 * this.half);
      for (let k = 0; k < taps.length; k++) {
        const x = k - this.half + 1 - phase / this.phases;
        const sinc = x === 0 ? 1 : Math.sin(Math.PI * cut * x) / (Math.PI * cut * x);
        const w = Math.abs(x) >= this.half ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * x) / this.half);
        taps[k] = cut * sinc * w;
      }
      this.table.push(taps);
    }
    this.kept = new Float32Array(4096);
    this.count = this.half;     // silence before the first sample
    this.place = this.half;     // where the next output stands in what is kept
  }

  feed(input, give) {
    this.kept.set(input, this.count);
    this.count += input.length;
    while (Math.floor(this.place) + this.half < this.count) {
      const whole = Math.floor(this.place);
      const taps = this.table[Math.round((this.place - whole) * this.phases)];
      let sum = 0;
      for (let k = 0, at = whole - this.half + 1; k < taps.length; k++, at++) sum += taps[k] * this.kept[at];
      give(sum);
      this.place += this.step;
    }
    const gone = Math.floor(this.place) - this.half;
    if (gone > 0) {
      this.kept.copyWithin(0, gone, this.count);
      this.count -= gone;
      this.place -= gone;
    }
  }
}

/** Our voice: what has arrived and not sounded, in order, and when it may begin. */
class Playout {
  constructor(tell) {
    this.tell = tell;
    this.waiting = [];      // {sound} {mark} {reply} {end}
    this.place = 0;         // in the first sound
    this.playing = false;
    this.dueS = null;       // when a reply that waits may begin; null: nothing waits
    this.holdS = LEAST_S;
    this.looking = false;   // for the first audible sample of a reply, or after a silence
    this.rise = 0;          // samples of a fade-in left
    this.afresh();
  }

  /** Measure a reply's jitter from its first frame on. */
  afresh() { [this.firstS, this.frames, this.latest, this.jitter] = [0, 0, 0, 0]; }

  /** A frame that later ones caught up with was late; one that they stayed behind with was a pause. */
  measure(nowS) {
    if (this.frames === 0) this.firstS = nowS;
    const late = nowS - this.firstS - this.frames++ * FRAME_S;
    this.latest = Math.max(this.latest, late);
    this.jitter = Math.max(this.jitter, this.latest - late);
  }

  arrive(sound, nowS) {
    this.measure(nowS);
    if (!this.playing && this.dueS === null) this.dueS = nowS + this.holdS;
    this.waiting.push({ sound });
  }

  /** A control in its place; where no sound waits before it, it is due now. */
  add(item) {
    if (item.reply) this.afresh();
    this.waiting.push(item);
  }

  clear() {
    const names = this.waiting.filter((item) => item.mark).map((item) => item.mark);
    if (names.length) this.tell({ cleared: names });
    const sounding = this.playing && this.waiting.find((item) => item.sound);
    const tail = sounding ? sounding.sound.slice(this.place, this.place + EDGE) : [];
    this.stop();
    for (let i = 0; i < tail.length; i++) tail[i] *= 1 - (i + 1) / tail.length;
    if (tail.length) [this.waiting, this.playing] = [[{ sound: tail }, { end: true }], true];
  }

  stop() {
    [this.waiting, this.place, this.playing, this.dueS, this.looking] = [[], 0, false, null, false];
  }

  /** The next sample, which sounds at the context's frame `frame`. */
  next(nowS, frame) {
    if (!this.playing) {
      while (this.waiting.length && !this.waiting[0].sound) this.pass(this.waiting.shift(), frame);
      if (this.dueS === null || nowS < this.dueS) return 0;
      [this.playing, this.dueS, this.rise, this.looking] = [true, null, EDGE, true];
    }
    while (this.waiting.length && !this.waiting[0].sound) this.pass(this.waiting.shift(), frame);
    if (!this.playing) return 0;
    if (!this.waiting.length) {
      this.playing = false;
      return 0;
    }
    const { sound } = this.waiting[0];
    let sample = sound[this.place++];
    if (this.place === sound.length) {
      this.waiting.shift();
      this.place = 0;
    }
    if (this.looking && Math.abs(sample) >= AUDIBLE) {
      this.tell({ sounded: true, frame });
      this.looking = false;
    }
    if (this.rise) sample *= 1 - --this.rise / EDGE;
    return sample;
  }

  pass(item, frame) {
    if (item.reply) this.looking = true;
    if (item.mark) this.tell({ played: item.mark, frame });
    if (item.end) {
      this.playing = this.waiting.some((other) => other.sound);
      this.holdS = Math.min(MOST_S, Math.max(LEAST_S, this.jitter + SPARE_S, this.holdS - STEP_S));
      this.tell({ held: this.holdS });
    }
  }
}

class Line extends AudioWorkletProcessor {
  constructor() {
    super();
    this.ratio = sampleRate / RATE;
    this.down = new Resampler(sampleRate, RATE);
    this.up = new Resampler(RATE, sampleRate);
    this.playout = new Playout((told) => this.port.postMessage(told));
    this.open = false;
    this.at = 0;             // the place of the frame that is being filled
    this.filled = 0;
    this.heard = 0;          // samples heard since `began`, whether sent or not
    this.began = 0;          // the context's frame at which the first of them was captured
    this.expected = 0;       // the context's frame at which we are called next
    this.fresh();
    this.ready = new Float32Array(4096);   // our voice at the context's rate, for the quanta to come
    this.count = 0;
    this.given = 0;          // samples of ours given to the resampler since `anchor`
    this.anchor = 0;         // the context's frame at which the first of them sounds
    this.block = new Float32Array(BLOCK);
    this.port.onmessage = ({ data }) => this.take(data);
  }

  take(told) {
    if (told.sound) {
      const view = new Int16Array(told.sound, HEADER);
      const sound = new Float32Array(view.length);
      for (let i = 0; i < view.length; i++) sound[i] = view[i] / 32768;
      this.playout.arrive(sound, currentTime);
    } else if (told.clear) this.playout.clear();
    else if (told.open !== undefined) this.setOpen(told.open, told.skip || 0);
    else this.playout.add(told);
  }

  /** Begin to hear, or stop; `skip` samples were missed while nothing ran. */
  setOpen(open, skip) {
    this.open = open;
    this.at += skip;
    if (!open) this.playout.stop();
  }

  fresh() {
    this.frame = new ArrayBuffer(HEADER + 2 * FRAME);
    this.samples = new Int16Array(this.frame, HEADER);
    this.power = 0;
  }

  hear(sample) {
    const bounded = Math.max(-1, Math.min(1, sample));
    this.power += bounded * bounded;
    this.heard++;
    this.samples[this.filled++] = Math.min(32767, Math.round(bounded * 32768));
    if (this.filled < FRAME) return;
    if (this.open) {
      new DataView(this.frame).setUint32(0, this.at, true);
      const level = Math.sqrt(this.power / FRAME);
      const frame = this.began + (this.heard - FRAME) * this.ratio;
      this.port.postMessage({ heard: this.frame, level, at: this.at, frame }, [this.frame]);
      this.at += FRAME;
    }
    this.filled = 0;
    this.fresh();
  }

  speak(output) {
    while (this.count < output.length) {
      for (let i = 0; i < BLOCK; i++) {
        const frame = this.anchor + this.given++ * this.ratio;
        this.block[i] = this.playout.next(frame / sampleRate, frame);
      }
      this.up.feed(this.block, (sample) => { this.ready[this.count++] = sample; });
    }
    output.set(this.ready.subarray(0, output.length));
    this.ready.copyWithin(0, output.length, this.count);
    this.count -= output.length;
  }

  /** Frames of the context at which nobody called us: neither end may believe that they did not pass. */
  catchUp() {
    const missed = currentFrame - this.expected;
    if (!missed) return;
    this.anchor += missed;
    this.began += missed;
    if (this.open) this.at += Math.round(missed / this.ratio);
  }

  process(inputs, outputs) {
    const output = outputs[0][0];
    this.catchUp();
    this.expected = currentFrame + output.length;
    this.down.feed(inputs[0][0] || new Float32Array(output.length), (sample) => this.hear(sample));
    this.speak(output);
    return true;
  }
}

registerProcessor("line", Line);
