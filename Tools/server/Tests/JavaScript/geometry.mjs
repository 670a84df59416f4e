// Tests the parts of the inspector that need no browser: the geometry of long lists, the scale of
// the slider, and the differences between objects.
//
//   node geometry.mjs [SEED]
import assert from "node:assert/strict";

const folder = "../../Sources/TreeRingServer/Static/inspector";
const { differences, field, fields } = await import(`${folder}/fields.js`);
const { ScaledScroll } = await import(`${folder}/scaled-scroll.js`);
const { TimelineScale } = await import(`${folder}/timeline-scale.js`);

const seed = Number(process.argv[2] ?? 1);
let state = seed >>> 0 || 1;
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}

/** The reader scrolls at random; the rows in view, and the ends of the bar, are always right. */
function scrolls() {
  for (let turn = 0; turn < 300; turn++) {
    const limit = 10_000;
    const list = new ScaledScroll(34, limit);
    let total = [0, 1, 20, 290, 300, 5000, 1_000_000][random(7)];
    let real = list.resize(total, 600);
    for (let step = 0; step < 100; step++) {
      const before = list.top;
      const last = Math.max(0, list.realHeight - 600);
      switch (random(6)) {
        case 0:
          real = random(last + 1);
          break;
        case 1:
          real = [0, last][random(2)];
          break;
        case 2:
          total = Math.max(0, total + random(41) - 20);
          real = list.resize(total, 600);
          continue;
        case 3:
          real = list.rest();
          assert(Math.abs(list.top - before) < 1e-6, `seed ${seed}: resting moved the list`);
          continue;
        default: {
          // A wheel moves rows by its own pixels wherever the list is, except at its ends.
          const by = random(400) - 200;
          const target = Math.min(Math.max(real + by, 0), last);
          const change = target - real;
          real = target;
          list.scrolled(real);
          const isAtEnd = list.top <= 0 || list.top >= list.lastTop - 1e-6;
          assert(isAtEnd || Math.abs(list.top - before - change) < 1e-6,
            `seed ${seed}: a scroll by ${change} moved the rows by ${list.top - before}`);
          continue;
        }
      }
      list.scrolled(real);
      const [first, end] = list.ranks();
      assert(first >= 0 && end <= total && first <= end);
      if (total * 34 >= 600) assert(end - first >= Math.floor(600 / 34));
      // A row in view lies in the part of the element that is in view.
      for (const rank of [first, end - 1]) {
        if (rank < first) continue;
        const place = list.place(rank) - list.real;
        assert(place > -35 && place < 600 + 1e-6, `seed ${seed}: rank ${rank} at ${place}`);
      }
    }
    list.scrolled(0);
    list.scrolled(Math.max(0, list.realHeight - 600));
    if (total > 0) assert.equal(list.ranks()[1], total, `seed ${seed}: the bar's end`);
    list.scrolled(0);
    if (!list.isScaled || list.realHeight > 2000) assert.equal(list.ranks()[0], 0);
  }
}

/** Dates and commits lead to each other, and ticks ascend and fit. */
function scales() {
  for (let turn = 0; turn < 300; turn++) {
    const samples = [];
    let commit = 1 + random(100);
    let time = Date.UTC(2013, random(12), 1 + random(28), random(24));
    const pace = [1, 60, 3600, 86_400][random(4)] * 1000;
    for (let count = 2 + random(200); count > 0; count--) {
      samples.push({ commit, time });
      commit += 1 + random(50);
      time += 1 + (random(5) === 0 ? random(200) * pace : random(pace));
    }
    const scale = new TimelineScale(samples);
    for (const sample of samples) {
      assert(Math.abs(scale.time(sample.commit) - sample.time) < 1e-3);
      assert(Math.abs(scale.commit(sample.time) - sample.commit) < 1e-6);
    }
    const most = 3 + random(15);
    const ticks = scale.ticks(most);
    assert(ticks.length <= most, `seed ${seed}: ${ticks.length} ticks of ${most}`);
    ticks.forEach((tick, index) => {
      assert(tick.part >= 0 && tick.part <= 1 && tick.text.length > 0);
      if (index > 0) assert(tick.part > ticks[index - 1].part);
    });
    assert.equal(scale.rates().length, samples.length - 1);
  }
  assert(Number.isNaN(new TimelineScale([]).time(1)));
  assert.deepEqual(new TimelineScale([]).ticks(9), []);
}

/** The differing fields turn one object into the other. */
function objects() {
  const make = (depth) => {
    const object = {};
    for (let count = random(4); count > 0; count--) {
      const name = "abcd"[random(4)];
      const isNested = depth > 0 && random(3) === 0;
      object[name] = isNested ? make(depth - 1) : [1, "x", null, [1, 2]][random(4)];
    }
    return object;
  };
  for (let turn = 0; turn < 2000; turn++) {
    const [before, after] = [make(2), make(2)];
    const found = new Map(fields(before));
    for (const part of differences(before, after)) {
      assert.deepEqual(found.get(part.path), part.before, `seed ${seed}`);
      assert.notEqual(JSON.stringify(part.before), JSON.stringify(part.after));
      if (part.after === undefined) found.delete(part.path);
      else found.set(part.path, part.after);
    }
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(fields(after)), `seed ${seed}`);
    for (const [path, value] of fields(after)) assert.deepEqual(field(after, path), value);
    assert.deepEqual(differences(after, after), []);
  }
  assert.deepEqual(differences(undefined, 7), [{ path: "value", before: undefined, after: 7 }]);
}

scrolls();
scales();
objects();
console.log(`inspector: seed ${seed}, lists, scales and differences`);
