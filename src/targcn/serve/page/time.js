// Ticks count units from the first time of the data; labels are written as the server writes them.

const MILLISECONDS = { day: 86400000, hour: 3600000, minute: 60000, second: 1000 };
const LENGTH = { month: 7, day: 10, hour: 13, minute: 16, second: 19 };
const MONTH = 30.44 * MILLISECONDS.day;
const DATE = /^(-?\d+)(?:-(\d\d))?(?:-(\d\d))?(?:T(\d\d))?(?::(\d\d))?(?::(\d\d))?$/;

function utc(year, month, day = 1) {
  const moment = new Date(0);
  moment.setUTCFullYear(year, month, day);
  return moment;
}

export class Timeline {
  constructor({ unit, last, histogram: { ticks, labels } }) {
    this.unit = unit;
    // Times that are plain numbers, as years are, may count by more than one.
    this.plain = unit === "year" || unit === "step";
    this.step = this.plain && ticks.length > 1 ? (labels[1] - labels[0]) / (ticks[1] - ticks[0]) : 1;
    this.zero = this.count(labels[0]) - ticks[0];
    this.last = this.tick(last);
  }

  // Units since a fixed moment; not a number for what is no time.
  count(label) {
    const parts = (String(label).match(DATE) || [0, NaN]).map((part) => part && Number(part));
    const [, year, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts;
    if (this.plain) return Math.floor(year / this.step);
    if (this.unit === "month") return year * 12 + month - 1;
    const inDay = ((hour * 60 + minute) * 60 + second) * MILLISECONDS.second;
    return Math.floor((utc(year, month - 1, day).getTime() + inDay) / MILLISECONDS[this.unit]);
  }

  tick(label) {
    return this.count(label) - this.zero;
  }

  moment(tick) {
    const value = tick + this.zero;
    return this.unit === "month" ? utc(0, value) : new Date(value * MILLISECONDS[this.unit]);
  }

  label(tick) {
    const value = (tick + this.zero) * this.step;
    if (this.unit === "year") return (value < 0 ? "-" : "") + String(Math.abs(value)).padStart(4, "0");
    return this.plain ? String(value) : this.moment(tick).toISOString().slice(0, LENGTH[this.unit]);
  }

  // Round times between two ticks, at most so many, each with a short label.
  marks(from, to, most) {
    const months = this.plain ? 0 : (this.moment(to) - this.moment(from)) / MONTH;
    if (months > 3) return this.monthMarks(from, to, most, months);
    return this.roundMarks(from, to, this.plain ? most : most / 2);
  }

  roundMarks(from, to, most) {
    const zero = this.plain ? this.zero : 0;
    const least = Math.max((to - from) / most, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const every = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least);
    const marks = [];
    for (let value = Math.ceil((from + zero) / every) * every; value <= to + zero; value += every)
      marks.push({ tick: value - zero, label: this.plain ? String(value * this.step) : this.label(value) });
    return marks;
  }

  monthMarks(from, to, most, months) {
    const every = [1, 2, 3, 6, 12, 24, 60, 120, 240].find((number) => months / number <= most) || 600;
    const form = new Intl.DateTimeFormat(
      document.documentElement.lang,
      { timeZone: "UTC", year: "numeric", ...(every < 12 && { month: "short" }) },
    );
    const start = this.moment(from);
    const marks = [];
    const first = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / every) * every;
    for (let month = first; ; month += every) {
      const moment = utc(0, month);
      const tick = this.unit === "month"
        ? month - this.zero
        : Math.ceil(moment / MILLISECONDS[this.unit]) - this.zero;
      if (tick > to) return marks;
      if (tick >= from) marks.push({ tick, label: form.format(moment) });
    }
  }
}
