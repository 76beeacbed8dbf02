// The page of a start: follows its events, keeps on when the Hub restarts, and tells whoever wants to know that it is ready.
(() => {
  "use strict";
  const root = document.querySelector('[data-siflab="pending"]');
  if (!root) return;

  const FIRST_PAUSE = 1000; // ms; all times here
  const LONGEST_PAUSE = 15000;
  const SILENCE = 13000; // the Hub gives a sign of life every 8 s (progress.py)

  const words = JSON.parse(root.dataset.words);
  const language = root.lang.startsWith("zh") ? "zh" : "en";
  const page = window.jhdata || {};
  const byId = id => document.getElementById(id);
  const remembered = name => `siflab:${name}:${window.location.pathname}`;
  const fill = (name, values) => words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
  const two = number => String(number).padStart(2, "0");

  function show(place, text) {
    if (place.textContent !== text) place.textContent = text;
  }

  // ---- what is going on

  let begun = null; // by this browser's clock
  let phase = "preparing";

  function showState(state) {
    if (state.begun_at) begun = Date.now() - 1000 * (state.now - state.begun_at);
    phase = state.phase;
    show(byId("siflab-phase"), words[phase]);
    byId("progress-bar").style.width = `${state.percent}%`;
    byId("progress-bar").parentElement.setAttribute("aria-valuenow", state.percent);
    const message = state.words[language];
    show(byId("progress-message"), message);
    const last = byId("progress-log").lastElementChild;
    if (!last || last.dataset.message !== message) {
      const line = document.createElement("div");
      line.className = "progress-log-event";
      line.dataset.message = message;
      line.textContent = `${new Date().toTimeString().slice(0, 8)} ${message}`;
      byId("progress-log").append(line);
    }
    const facts = {
      expected: state.start_at ? fill("about", { at: moment(state.start_at) }) : words.unknown,
      job: state.job_id || words.unknown,
      node: state.node || words.unknown,
    };
    for (const part of root.querySelectorAll("[data-while-waiting]")) part.hidden = Boolean(state.node);
    for (const [name, value] of Object.entries(facts)) show(root.querySelector(`[data-fact="${name}"]`), value);
    tick();
  }

  /** The Hub's wall clock, as in its sentences; the day where it is not today. */
  function moment(iso) {
    const today = new Date().toDateString() === new Date(iso).toDateString();
    return today ? iso.slice(11, 16) : `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;
  }

  function tick() {
    const seconds = begun === null ? null : Math.max(0, Math.round((Date.now() - begun) / 1000));
    const hours = Math.floor(seconds / 3600);
    const rest = `${two(Math.floor((seconds % 3600) / 60))}:${two(seconds % 60)}`;
    const text = seconds === null ? words.unknown : `${hours}:${rest}`;
    show(root.querySelector('[data-fact="elapsed"]'), text);
    const title = seconds === null ? words[phase] : `${text} · ${words[phase]}`;
    if (!over && document.title !== title) document.title = title;
  }

  // ---- its end

  let over = false;
  let stopping = false;

  function leave() {
    window.location.reload(); // JupyterHub leads to the session, or to the page of the failure
  }

  function end(name) {
    over = true;
    document.title = `${name === "ready" ? "✓" : "✗"} ${words[name]}`;
    show(byId("siflab-phase"), words[name]);
    if (!wantsNotice() || !document.hidden) return leave();
    notify(words[name]);
    document.addEventListener("visibilitychange", () => document.hidden || leave());
  }

  // ---- the events, across restarts of the Hub

  let pause = FIRST_PAUSE;
  let source = null;
  let silence = 0;

  function heard() {
    window.clearTimeout(silence);
    silence = window.setTimeout(lose, SILENCE);
  }

  function lose() {
    window.clearTimeout(silence);
    source.close();
    if (!over && !stopping) window.setTimeout(seek, pause);
  }

  function listen() {
    if (source) source.close();
    source = new EventSource(root.dataset.progressUrl);
    heard();
    source.onmessage = event => {
      const told = JSON.parse(event.data);
      heard();
      pause = FIRST_PAUSE;
      window.sessionStorage.removeItem(remembered("reloads"));
      byId("siflab-trouble").hidden = true;
      if (told.siflab) showState(told.siflab);
      if (!told.ready && !told.failed) return;
      window.clearTimeout(silence);
      source.close();
      if (!stopping) end(told.ready ? "ready" : "failed");
    };
    source.onerror = lose;
  }

  /** The Hub is asked whether it is there. When it is, it may not know of a start any more: its page says what there is. */
  async function seek() {
    if (over || stopping) return;
    let there = false;
    try {
      there = (await fetch(`${page.base_url}api/`, { cache: "no-store" })).ok;
    } catch {
      there = false;
    }
    if (there) {
      const reloads = Number(window.sessionStorage.getItem(remembered("reloads"))) || 0;
      window.sessionStorage.setItem(remembered("reloads"), String(reloads + 1));
      window.setTimeout(leave, Math.min(FIRST_PAUSE * 2 ** reloads, LONGEST_PAUSE));
      return;
    }
    byId("siflab-trouble").hidden = false;
    pause = Math.min(2 * pause, LONGEST_PAUSE);
    window.setTimeout(seek, pause);
  }

  // ---- a notice when it is ready

  const bell = byId("siflab-notify");
  const wantsNotice = () => window.sessionStorage.getItem(remembered("notify")) === "yes";
  const mayNotify = () => "Notification" in window && Notification.permission === "granted";

  function showWish() {
    bell.setAttribute("aria-pressed", String(wantsNotice()));
    show(byId("siflab-notify-words"), wantsNotice() ? words[mayNotify() ? "will_notify" : "title_only"] : "");
  }

  function notify(text) {
    if (!mayNotify()) return;
    const notice = new Notification(text, { tag: remembered("notify") });
    notice.onclick = () => {
      window.focus();
      notice.close();
      leave();
    };
  }

  bell.addEventListener("click", async () => {
    const wanted = !wantsNotice();
    window.sessionStorage.setItem(remembered("notify"), wanted ? "yes" : "no");
    showWish();
    if (wanted && "Notification" in window && Notification.permission === "default") await Notification.requestPermission();
    showWish();
  });

  // ---- stop

  const stop = byId("stop-server-btn");
  const stopState = byId("stop-server-status");

  stop.addEventListener("click", async () => {
    stopping = true;
    stop.disabled = true;
    stopState.className = "mt-2 alert alert-info";
    show(stopState, words.stopping);
    try {
      const url = root.dataset.progressUrl.split("?")[0].replace(/\/progress$/, "");
      const answer = await fetch(url, { method: "DELETE", headers: { "X-XSRFToken": page.xsrf_token || "" } });
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`.trim());
      over = true;
      show(stopState, words.stopped);
      if (answer.status === 202) leave();
      else window.location.replace(root.dataset.spawnUrl);
    } catch (error) {
      stopping = false;
      stop.disabled = false;
      stopState.className = "mt-2 alert alert-danger";
      show(stopState, fill("not_stopped", { why: error.message }));
      listen();
    }
  });

  bell.hidden = false;
  stop.hidden = false;
  showWish();
  showState(JSON.parse(root.dataset.state));
  window.setInterval(tick, 1000);
  listen();
})();
