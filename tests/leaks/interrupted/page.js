import page from "./page.html" with { type: "text" };

const data = JSON.parse(page.match(/<script type="application\/json" id="data">(.*?)<\/script>/s)[1]);
console.log(data.liveTensors > 0, data.peak >= 1_000_000);
