// Ticks count units from the first time of the data; labels are written as the server writes them.

const MILLISECONDS = { day: 86400000, hour: 3600000, minute: 60000, second: 1000 };
const MONTH = 30.44 * MILLISECONDS.day;
const LENGTH = { year: 4, month: 7, day: 10, hour: 13, minute: 16, second: 19 };

export class Timeline {
  constructor(run) {
    const { ticks, labels } = run.histogram;
    this.unit = run.unit;
    this.first = ticks[0];
    // Times that are plain numbers may count by more than one.
    this.step = 1;
    if (run.unit === "step" && ticks.length > 1) this.step = (Number(labels[1]) - Number(labels[0])) / (ticks[1] - ticks[0]);
    this.zero = this.count(labels[0]) - this.first;
    this.last = this.tick(run.last);
  }

  get dated() {
    return this.unit !== "step";
  }

  // Units since a fixed moment.
  count(label) {
    if (!this.dated) return Math.floor(Number(label) / this.step);
    const [, year, month = 1, day = 1, hour = 0, minute = 0, second = 0] = String(label)
      .match(/^(-?\d+)(?:-(\d\d))?(?:-(\d\d))?(?:T(\d\d))?(?::(\d\d))?(?::(\d\d))?/)
      .map((part) => (part === undefined ? undefined : Number(part)));
    if (this.unit === "year") return year;
    if (this.unit === "month") return year * 12 + month - 1;
    const moment = new Date(Date.UTC(2000, month - 1, day, hour, minute, second));
    moment.setUTCFullYear(year, month - 1, day);
    return Math.floor(moment / MILLISECONDS[this.unit]);
  }

  tick(label) {
    return this.count(label) - this.zero;
  }

  moment(tick) {
    const value = tick + this.zero;
    const moment = new Date(Date.UTC(2000, 0, 1));
    if (this.unit === "year") return moment.setUTCFullYear(value), moment;
    if (this.unit === "month") return moment.setUTCFullYear(Math.floor(value / 12), ((value % 12) + 12) % 12), moment;
    return new Date(value * MILLISECONDS[this.unit]);
  }

  label(tick) {
    const value = tick + this.zero;
    if (!this.dated) return String(value * this.step);
    if (this.unit === "year") return (value < 0 ? "-" : "") + String(Math.abs(value)).padStart(4, "0");
    return this.moment(tick).toISOString().slice(0, LENGTH[this.unit]);
  }

  // Round times between two ticks, at most so many, each with a short label.
  marks(from, to, most) {
    const months = this.dated && this.unit !== "year" ? (this.moment(to) - this.moment(from)) / MONTH : 0;
    return months > 3 ? this.monthMarks(from, to, most, months) : this.roundMarks(from, to, most);
  }

  roundMarks(from, to, most) {
    const whole = this.unit === "year" || !this.dated;
    const zero = whole ? this.zero : 0;
    const least = Math.max((to - from) / (whole ? most : most / 2), 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const every = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least);
    const marks = [];
    for (let value = Math.ceil((from + zero) / every) * every; value <= to + zero; value += every)
      marks.push({ tick: value - zero, label: whole ? String(value * this.step) : this.label(value) });
    return marks;
  }

  monthMarks(from, to, most, months) {
    const every = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600].find((number) => months / number <= most) || 1200;
    const form = new Intl.DateTimeFormat(document.documentElement.lang, {
      timeZone: "UTC", year: "numeric", ...(every < 12 ? { month: "short" } : {}) });
    const start = this.moment(from), marks = [];
    let month = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / every) * every;
    for (; ; month += every) {
      const moment = new Date(Date.UTC(2000, 0, 1));
      moment.setUTCFullYear(0, month, 1);
      const tick = this.unit === "month" ? month - this.zero : Math.ceil(moment / MILLISECONDS[this.unit]) - this.zero;
      if (tick > to) return marks;
      if (tick >= from) marks.push({ tick, label: form.format(moment) });
    }
  }
}
