// The search runs in a worker, which browsers refuse to a page opened from a folder. There it runs in a hidden frame.

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = []; // messages that came before the script was there
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.append(this.frame);
      const inside = this.frame.contentWindow, script = this.frame.contentDocument.createElement("script");
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      inside.importScripts = (...urls) => Promise.all(urls.map((each) => new Promise((done) => {
        const further = inside.document.createElement("script");
        further.src = each;
        further.onload = done;
        inside.document.body.append(further);
      })));
      script.src = url;
      script.onload = () => {
        this.inside = inside;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      };
      this.frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (!this.inside) this.waiting.push(data);
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
    }

    terminate() { this.frame.remove(); }
  };
  window.Worker = window.IFrameWorker;
}
